import Postgres
import Reactor
import Store

/// Why a database can't carry a gateway, with the SQL that helps. Found before anything else uses the database.
package enum DatabaseFault: Equatable, Sendable {
    /// Its encoding lacks most of the world's names.
    case encoding(String, database: String)
    /// The role may not create tables in the schema, or not use it.
    case noRight(role: String, schema: String, database: String)
    /// The search path names no schema that exists. `named`: the first one that may be created; nil: there is none.
    case noSchema(role: String, named: String?, database: String)
    /// Tables that a role owns that ours is not a member of.
    case otherOwner(String, role: String, schema: String)
    /// The role, the database or the server allows fewer sessions than one process opens.
    case sessions(Int, allowedBy: SessionLimit)
    /// A pooler lends a session of PostgreSQL for each transaction.
    case pooler
    /// Another session keeps work waiting.
    case blocked(LockHolder)

    package enum SessionLimit: Equatable, Sendable {
        case role(String)
        case database(String)
        case server
    }

    package var sentence: String {
        switch self {
        case .encoding(let encoding, _): "its encoding is \(encoding), and names of users and texts need UTF8"
        case .noRight(let role, let schema, let database):
            "the role \(role) may not create tables in the schema \(schema) of the database \(database)"
        case .noSchema(let role, _, let database):
            "the search_path of the role \(role) names no schema for its tables in the database \(database)"
        case .otherOwner(let owner, let role, _): "its tables belong to the role \(owner), and the gateway's is \(role)"
        case .sessions(let count, let limit):
            "\(limit.text) allows \(count) sessions, and a gateway opens \(DatabaseFitness.sessionsMax)"
        case .pooler: "a pooler lends the gateway another session for each transaction"
        case .blocked(let holder): "a session keeps work waiting: \(holder)"
        }
    }

    package var remedy: String {
        switch self {
        case .encoding(_, let database):
            "create another one: CREATE DATABASE \(Self.quoted(database + "_utf8")) ENCODING 'UTF8' TEMPLATE template0"
        case .noRight(let role, let schema, _):
            "\(Self.asSuperuser): GRANT CREATE, USAGE ON SCHEMA \(Self.quoted(schema)) TO \(Self.quoted(role))"
        case .noSchema(let role, let schema?, _):
            "\(Self.asSuperuser): CREATE SCHEMA \(Self.quoted(schema)) AUTHORIZATION \(Self.quoted(role))"
        case .noSchema(let role, nil, let database):
            "\(Self.asSuperuser): CREATE SCHEMA IF NOT EXISTS \(Self.quoted(role)) AUTHORIZATION \(Self.quoted(role)); "
                + "ALTER ROLE \(Self.quoted(role)) IN DATABASE \(Self.quoted(database)) SET search_path = "
                + Self.quoted(role)
        case .otherOwner(let owner, let role, let schema):
            "\(Self.asSuperuser): \(Self.change(of: schema, from: owner, to: role))"
        case .sessions(_, let limit): limit.remedy
        case .pooler:
            "let CARILLON_DATABASE_URL name PostgreSQL itself, or set the pooler's pool_mode to session for this role"
        case .blocked(let holder): "end it, if it is nobody's work: SELECT pg_terminate_backend(\(holder.process))"
        }
    }

    private static let asSuperuser = "as a superuser, in this database"

    /// Gives a role what another one owns in a schema. PostgreSQL refuses REASSIGN OWNED for the superuser that it was
    /// made with, and for other roles it would also give away their databases.
    ///
    /// Sequences follow the tables that own them.
    private static func change(of schema: String, from owner: String, to role: String) -> String {
        let (schema, owner) = (literal(quoted(schema)), literal(quoted(owner)))
        return """
            DO $own$ DECLARE change text; BEGIN FOR change IN \
            SELECT format('ALTER TABLE %s OWNER TO %I', oid::regclass, \(literal(role))) FROM pg_class \
            WHERE relnamespace = \(schema)::regnamespace AND relkind IN ('r', 'p') AND relowner = \(owner)::regrole \
            UNION ALL SELECT format('ALTER ROUTINE %s OWNER TO %I', oid::regprocedure, \(literal(role))) FROM pg_proc \
            WHERE pronamespace = \(schema)::regnamespace AND proowner = \(owner)::regrole \
            LOOP EXECUTE change; END LOOP; END $own$
            """
    }

    private static func literal(_ text: String) -> String { "'\(text.replacing("'", with: "''"))'" }

    /// A name as SQL takes it, whatever it is.
    static func quoted(_ name: String) -> String {
        let isPlain = name.utf8.allSatisfy { (0x61...0x7a).contains($0) || (0x30...0x39).contains($0) || $0 == 0x5f }
        return isPlain && name.first?.isNumber == false ? name : "\"\(name.replacing("\"", with: "\"\""))\""
    }
}

extension DatabaseFault.SessionLimit {
    /// Room for two processes and an upgrade beside them.
    private static let advised = 3 * DatabaseFitness.sessionsMax

    fileprivate var text: String {
        switch self {
        case .role(let name): "the connection limit of the role \(name)"
        case .database(let name): "the connection limit of the database \(name)"
        case .server: "max_connections of the server"
        }
    }

    fileprivate var remedy: String {
        switch self {
        case .role(let name):
            "as a superuser: ALTER ROLE \(DatabaseFault.quoted(name)) CONNECTION LIMIT \(Self.advised)"
        case .database(let name):
            "as a superuser: ALTER DATABASE \(DatabaseFault.quoted(name)) CONNECTION LIMIT \(Self.advised)"
        case .server: "ALTER SYSTEM SET max_connections = 100, and restart PostgreSQL"
        }
    }
}

enum DatabaseFitness {
    /// The sessions of one process: delivery's, those of requests, and the one that listens.
    static let sessionsMax = 2 * PoolSettings().connectionsMax + 1
    /// A statement of the gateway's waits for a shorter time.
    private static let blockingMin: Duration = .seconds(2)

    /// A session limit below 0 means none. A superuser has none.
    private static let statement = Statement(
        unprepared: """
            SELECT current_user::text, current_database()::text, current_schema()::text,
                coalesce(has_schema_privilege(current_schema(), 'CREATE'), false),
                current_setting('server_encoding'),
                CASE WHEN rolsuper THEN -1 ELSE rolconnlimit END, CASE WHEN rolsuper THEN -1 ELSE datconnlimit END,
                current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int,
                (SELECT pg_get_userbyid(c.relowner)::text FROM pg_class c
                 WHERE c.relnamespace = to_regnamespace(current_schema()::text) AND c.relkind IN ('r', 'p')
                    AND EXISTS (SELECT FROM pg_class WHERE oid = to_regclass('schema_migrations'))
                    AND c.relname IN ('schema_migrations', 'apps', 'messages', 'push_history')
                    AND NOT pg_has_role(c.relowner, 'USAGE') LIMIT 1),
                wanted.name, wanted.is_there
            FROM pg_roles CROSS JOIN pg_database LEFT JOIN LATERAL (
                SELECT named.name, n.oid IS NOT NULL AS is_there
                FROM unnest(string_to_array(current_setting('search_path'), ',')) WITH ORDINALITY AS entry (text, place)
                CROSS JOIN LATERAL (SELECT trim(BOTH '"' FROM trim(entry.text)) AS text) AS bare
                CROSS JOIN LATERAL (
                    SELECT CASE bare.text WHEN '$user' THEN current_user::text ELSE bare.text END AS name) AS named
                LEFT JOIN pg_namespace n ON n.nspname = named.name
                WHERE named.name NOT IN ('', 'information_schema') AND NOT starts_with(named.name, 'pg_')
                ORDER BY n.oid IS NULL, entry.place LIMIT 1
            ) AS wanted ON true
            WHERE rolname = current_user AND datname = current_database()
            """)

    static func faults(
        of pool: PostgresPool, _ database: PostgresSettings, _ loop: ReactorLoop
    ) async throws(PostgresError) -> [DatabaseFault] {
        let faults = try await pool.read(Query(statement)).one { row throws(PostgresError) in
            try DatabaseFitness.faults(&row)
        }
        guard faults.isEmpty else { return faults }
        return try await database.keepsSessions(on: loop) ? [] : [.pooler]
    }

    private static func faults(_ row: inout Row) throws(PostgresError) -> [DatabaseFault] {
        let (role, database, schema) = (try row.text(), try row.text(), try row.textOrNil())
        let (mayCreate, encoding) = (try row.bool(), try row.text())
        let limits: [(Int, DatabaseFault.SessionLimit)] = [
            (Int(try row.int32()), .role(role)), (Int(try row.int32()), .database(database)),
            (Int(try row.int32()), .server),
        ]
        var faults: [DatabaseFault] = []
        if encoding != "UTF8" { faults.append(.encoding(encoding, database: database)) }
        if let owner = try row.textOrNil() { faults.append(.otherOwner(owner, role: role, schema: schema ?? "")) }
        let (wanted, isThere) = (try row.textOrNil(), try row.boolOrNil() ?? false)
        if !mayCreate {
            let isOfSystem = schema.map { $0.hasPrefix("pg_") || $0 == "information_schema" } ?? false
            let place = schema ?? (isThere ? wanted : nil)
            let fault: DatabaseFault =
                if let place, !isOfSystem {
                    .noRight(role: role, schema: place, database: database)
                } else {
                    .noSchema(role: role, named: isOfSystem ? nil : wanted, database: database)
                }
            faults.append(fault)
        }
        let tight = limits.filter { (0..<sessionsMax).contains($0.0) }.min { $0.0 < $1.0 }
        if let tight { faults.append(.sessions(tight.0, allowedBy: tight.1)) }
        return faults
    }

    /// Ends the start where the database can't carry a gateway. A database that does not answer is reported by the
    /// migration.
    static func require(of pool: PostgresPool, _ database: PostgresSettings, _ loop: ReactorLoop) async throws {
        guard let fault = try? await faults(of: pool, database, loop).first else { return }
        throw StartFault(
            "the database \(database.urlWithoutPassword) can't be used: \(fault.sentence): \(fault.remedy)")
    }

    static func blocking(_ pool: PostgresPool) async throws(PostgresError) -> [LockHolder] {
        try await LockHolder.read(pool, since: blockingMin, onlyBlocking: true)
    }
}
