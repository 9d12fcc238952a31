import CPostgres
import Glibc

/// The environment variables from which libpq takes what a connection's settings leave open: PGHOSTADDR, PGOPTIONS, ...
package enum LibpqEnvironment {
    private static let prefix = "PG"

    /// Those that can change a connection of the gateway's. PGAPPNAME, PGCLIENTENCODING and PGGSSENCMODE can't: the
    /// gateway gives these settings itself.
    ///
    /// Source: PostgreSQL 18, libpq, "Environment Variables".
    private static let ofConnections: Set<String> = [
        "PGCHANNELBINDING", "PGCONNECT_TIMEOUT", "PGDATABASE", "PGDATESTYLE", "PGGEQO", "PGGSSDELEGATION", "PGGSSLIB",
        "PGHOST", "PGHOSTADDR", "PGKRBSRVNAME", "PGLOADBALANCEHOSTS", "PGMAXPROTOCOLVERSION", "PGMINPROTOCOLVERSION",
        "PGOPTIONS", "PGPASSFILE", "PGPASSWORD", "PGPORT", "PGREQUIREAUTH", "PGREQUIREPEER", "PGREQUIRESSL",
        "PGSERVICE", "PGSERVICEFILE", "PGSSLCERT", "PGSSLCERTMODE", "PGSSLCOMPRESSION", "PGSSLCRL", "PGSSLCRLDIR",
        "PGSSLKEY", "PGSSLMAXPROTOCOLVERSION", "PGSSLMINPROTOCOLVERSION", "PGSSLMODE", "PGSSLNEGOTIATION",
        "PGSSLROOTCERT", "PGSSLSNI", "PGSYSCONFDIR", "PGTARGETSESSIONATTRS", "PGTZ", "PGUSER",
    ]

    /// The names of those that are set and can change a connection, in rising order.
    package static var names: [String] { names(among: all) }

    /// Other programs of PostgreSQL's have variables with the same prefix, such as PGDATA.
    package static func names(among variables: [String]) -> [String] {
        variables.filter(ofConnections.contains).sorted()
    }

    private static var all: [String] {
        var names: [String] = []
        var entry = unsafe environ
        while let text = unsafe entry.pointee {
            let variable = unsafe String(cString: text)
            if variable.hasPrefix(prefix) { names.append(String(variable.prefix { $0 != "=" })) }
            unsafe entry = entry.successor()
        }
        return names
    }

    /// Removes all variables with the prefix. A private server's settings are complete, and a variable could send its clients elsewhere.
    ///
    /// Other threads must not read the environment meanwhile: call it at the program's start.
    static func clear() { for name in all { unsafe unsetenv(name) } }
}
