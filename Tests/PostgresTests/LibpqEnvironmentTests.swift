import Postgres
import Testing

@Suite("The environment variables of libpq")
struct LibpqEnvironmentTests {
    @Test("are those that can change a connection, and none of other programs")
    func names() {
        let variables = ["PG_COLOR", "PGUSER", "PGDATA", "PGHOSTADDR", "PGLOCALEDIR", "PGCONNECT_TIMEOUT", "PGAPPNAME"]
        #expect(LibpqEnvironment.names(among: variables) == ["PGCONNECT_TIMEOUT", "PGHOSTADDR", "PGUSER"])
    }
}
