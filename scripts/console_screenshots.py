"""Takes the pictures of the console in docs/pictures, of the demo's story: `make console-screenshots`.

It needs a service at KEEPWORD_URL in which `keepword demo --to-service` was played, and Debian's Chromium.
"""

import os
from pathlib import Path

from playwright.sync_api import sync_playwright

URL = os.environ.get("KEEPWORD_URL", "http://127.0.0.1:8002")
PICTURES = Path(__file__).parents[1] / "docs" / "pictures"
VIEWS = {
    "turns": "turns?conversation=counter-talk",
    "memories": "memories?state=any",
    "search": "search?q=when does the bakery open",
    "summaries": "summaries?conversation=counter-talk",
}


def main() -> None:
    PICTURES.mkdir(exist_ok=True)
    with sync_playwright() as playwright:
        chromium = os.environ.get("CHROMIUM", "/usr/bin/chromium")
        flags = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--disable-background-networking"]
        browser = playwright.chromium.launch(executable_path=chromium, args=flags)
        page = browser.new_page(viewport={"width": 1100, "height": 700})
        for name, view in VIEWS.items():
            page.goto(f"{URL}/console#/{view}")
            page.locator("main h1").wait_for()
            page.wait_for_timeout(1500)
            if name == "turns":
                page.get_by_role("button", name="Look in the whole tenant").click()
                page.wait_for_timeout(1000)
                page.locator(".asked").scroll_into_view_if_needed()
            page.screenshot(path=PICTURES / f"console-{name}.png")
        browser.close()


if __name__ == "__main__":
    main()
