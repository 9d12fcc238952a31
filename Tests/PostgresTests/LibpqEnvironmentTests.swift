import Postgres
import Testing

@Suite("The environment variables of libpq")
struct LibpqEnvironmentTests {
    @Test("count if they can change a connection, and not if they belong to other programs")
    func names() {
        let variables = ["PG_COLOR", "PGUSER", "PGDATA", "PGHOSTADDR", "PGLOCALEDIR", "PGCONNECT_TIMEOUT", "PGAPPNAME"]
        #expect(LibpqEnvironment.names(among: variables) == ["PGCONNECT_TIMEOUT", "PGHOSTADDR", "PGUSER"])
    }
}
