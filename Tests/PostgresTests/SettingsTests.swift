import Postgres
import Testing

@Suite("The URL of a database")
struct SettingsTests {
    @Test("parses as a URL or as keywords, and its description hides the password")
    func description() throws {
        for text in [
            "postgres://anna:hunter2@db.example:6000/bell?sslmode=require",
            "host=db.example dbname=bell user=anna password=hunter2",
        ] {
            let settings = try PostgresSettings(parsing: text)
            let shown = "\(settings)"
            #expect(shown == "PostgreSQL at db.example, database bell, user anna")
            #expect(!String(reflecting: settings).contains("hunter2"))
            var dumped = ""
            dump(settings, to: &dumped)
            #expect(!dumped.contains("hunter2"))
        }
    }

    @Test(
        "prints as a URL without the password",
        arguments: [
            ("postgres://anna:hunter2@db.example:6000/bell?sslmode=require", "postgresql://anna@db.example:6000/bell"),
            (
                "host=db.example port=5001 dbname=bell user=anna password=hunter2",
                "postgresql://anna@db.example:5001/bell"
            ),
            ("postgres://anna:hunter2@one:5001,two:5002/bell", "postgresql://anna@one:5001,two:5002/bell"),
            ("postgres://anna:hunter2@/bell?host=%2Frun%2Fpg", "postgresql://anna@/bell?host=/run/pg"),
            (
                "dbname='postgres://anna:hunter2@db.example/bell' host=db.example port=5001",
                "postgresql://db.example:5001/"
            ),
        ])
    func shown(text: String, url: String) throws {
        let shown = try PostgresSettings(parsing: text).urlWithoutPassword
        #expect(shown == url)
    }

    @Test(
        "names hosts, ports and database for the log, and neither user nor password",
        arguments: [
            ("postgres://anna:hunter2@db.example:6000/bell", "db.example:6000/bell"),
            ("postgres://anna:hunter2@one:5001,two:5002/bell", "one:5001,two:5002/bell"),
            ("postgres://anna:hunter2@/bell?host=%2Frun%2Fpg&port=5001", "/run/pg/bell"),
            ("dbname='postgres://anna:hunter2@db.example/bell' host=db.example port=5001", "db.example:5001/"),
        ])
    func place(text: String, place: String) throws {
        #expect(try PostgresSettings(parsing: text).place == place)
    }

    @Test(
        "fails to parse if it is malformed, with an error that does not repeat it",
        arguments: [
            "hunter2", "postgres://anna:hunter2@host:port/x", "host=a hunter2", "postgres://anna:hunter2@h:0/x",
            "postgres://h/x?hunter2=1", "host=a,b,c port=1,2 password=hunter2", "mysql://hunter2",
            "postgres://anna:part@hunter2@h/x",
        ])
    func refused(text: String) {
        do throws(PostgresError) {
            _ = try PostgresSettings(parsing: text)
            Issue.record("the text was accepted")
        } catch {
            #expect(!"\(error)".contains("hunter2"))
            guard case .settingsInvalid = error else {
                Issue.record("\(error)")
                return
            }
        }
    }
}

@Suite("An SQLSTATE code")
struct SQLStateTests {
    @Test("consists of five digits or upper-case letters; anything else counts as unreadable")
    func codes() {
        #expect(SQLState("23505") == .uniqueViolation && SQLState("23505").code == "23505")
        #expect(SQLState("40P01").description == "40P01" && SQLState("40P01").isOfClass("40"))
        for text in ["", "2350", "235055", "2350a", "ÄÖÜßé", "23 05"] { #expect(SQLState(text) == .unreadable) }
    }
}
