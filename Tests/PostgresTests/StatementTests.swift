import Postgres
import Testing

@Suite("The parameters of a statement")
struct StatementTests {
    @Test(
        "get numbers in the order in which their names first occur",
        arguments: [
            ("SELECT :app, :kind, :app", "SELECT $1, $2, $1"),
            ("SELECT :at::text, x::int, :at", "SELECT $1::text, x::int, $1"),
            ("SELECT ':no', \":no\", :yes -- :no\n, :also", "SELECT ':no', \":no\", $1 -- :no\n, $2"),
            ("SELECT a[1: least(b, :n)]", "SELECT a[1: least(b, $1)]"),
            ("SELECT 'it''s :no' || :yes_2", "SELECT 'it''s :no' || $1"),
            (":", ":"),
        ])
    func numbers(text: String, sql: String) {
        #expect(Statement(unprepared: text).sql == sql)
    }

    @Test("take the values of a query by name, in any order")
    func order() async throws {
        try await withPool { pool in
            let statement = Statement("order_by_name", "SELECT :first - :second, :third")
            let query = Query(statement) {
                $0.int64("second", 2)
                $0.text("third", "three")
                $0.int64("first", 1)
            }
            let read = try await pool.run(query).one { row throws(PostgresError) in (try row.int64(), try row.text()) }
            #expect(read == (-1, "three"))
        }
    }

    @Test("name places in an array from 1, and readers return them from 0, or throw behind the end")
    func places() async throws {
        try await withPool { pool in
            let statement = Statement("places", "SELECT place FROM unnest(:texts) WITH ORDINALITY AS t (text, place)")
            let rows = try await pool.run(Query(statement) { $0.textArray("texts", ["a", "b"]) })
            #expect(try rows.places(upTo: 2) == [0, 1])
            let error = await failure { () throws(PostgresError) in try rows.places(upTo: 1) }
            #expect(error == .unexpectedShape(statement: "places", column: 0))
        }
    }
}
