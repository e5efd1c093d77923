"""Who is who: the people of a source as users of the tenant."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from keepword.errors import TooLarge
from keepword.histories import names
from keepword.histories.records import Person
from keepword.histories.report import FoundPerson, ImportReport

MAX_PEOPLE = 10_000


@dataclass(slots=True)
class People:
    """`mapping` names users for ids, handles or names of the source; others get a user of their own.

    A person is never taken for a user who is already here because of a like name: whoever is that user would read
    what the person may read.
    """

    kind: str
    owner: str
    report: ImportReport
    mapping: Mapping[str, str] = field(default_factory=dict)
    most: int = MAX_PEOPLE
    known: dict[str, Person] = field(default_factory=dict)

    def meet(self, person: Person) -> None:
        self.known[person.id] = person

    def user(self, id_: str) -> str:
        """Return the user of a person, who is counted from now on."""
        if id_ not in self.report.people:
            person = self.known.get(id_, Person(id_))
            if len(self.report.people) >= self.most:
                raise TooLarge(
                    f"over {self.most:,} people speak in this history; each would become a user. Raise the limit with "
                    "--max-people, or import a part of it"
                )
            self.report.people[id_] = FoundPerson(id_, person.name, self._user(person))
        return self.report.people[id_].user

    def owners(self, members: tuple[str, ...]) -> bool:
        """Tell whether the owner of the import is one of these."""
        return any(self._user(self.known.get(member, Person(member))) == self.owner for member in members)

    def is_owner(self, id_: str) -> bool:
        return self._user(self.known.get(id_, Person(id_))) == self.owner

    def name(self, id_: str) -> str | None:
        person = self.known.get(id_)
        return None if person is None else person.name

    def _user(self, person: Person) -> str:
        for named in (person.id, person.handle, person.name):
            if named is not None and named in self.mapping:
                return self.mapping[named]
        return self.owner if person.is_owner else names.name(f"{self.kind}:{person.id}")
