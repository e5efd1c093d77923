// A file of its own: the page's Content-Security-Policy allows no script inside the page.
SwaggerUIBundle({
  url: "/openapi.json",
  dom_id: "#swagger-ui",
  deepLinking: true,
  validatorUrl: null,
});
