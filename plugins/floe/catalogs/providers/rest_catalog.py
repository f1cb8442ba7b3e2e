"""PyIceberg's REST catalog; its answers are checked before they are used."""

from pyiceberg.catalog.rest import RestCatalog, TableResponse
from pyiceberg.table import StagedTable, Table
from pyiceberg.typedef import Identifier

from floe.catalogs.table_trust import check_catalog_answer, check_table_answer, check_table_properties


class CheckedRestCatalog(RestCatalog):
    """The REST catalog that floe opens instead of PyIceberg's."""

    def _fetch_config(self) -> None:
        own = dict(self.properties)
        super()._fetch_config()
        check_catalog_answer({key: value for key, value in self.properties.items() if own.get(key) != value}, own)

    def _response_to_table(self, identifier_tuple: Identifier, table_response: TableResponse) -> Table:
        self._check(identifier_tuple, table_response)
        return super()._response_to_table(identifier_tuple, table_response)

    def _response_to_staged_table(self, identifier_tuple: Identifier, table_response: TableResponse) -> StagedTable:
        self._check(identifier_tuple, table_response)
        return super()._response_to_staged_table(identifier_tuple, table_response)

    def _check(self, identifier: Identifier, response: TableResponse) -> None:
        name = ".".join(identifier)
        check_table_properties(name, response.metadata.properties)
        check_table_answer(name, response.config, self.properties)
        for credential in response.storage_credentials:
            check_table_answer(name, credential.config, self.properties)
