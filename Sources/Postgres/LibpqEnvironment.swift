import CPostgres
import Glibc

/// The environment variables from which libpq takes what a connection's settings leave open: PGHOSTADDR, PGOPTIONS, ...
package enum LibpqEnvironment {
    private static let prefix = "PG"

    /// The names of those that are set, in rising order.
    package static var names: [String] {
        var names: [String] = []
        var entry = unsafe environ
        while let text = unsafe entry.pointee {
            let variable = unsafe String(cString: text)
            if variable.hasPrefix(prefix) { names.append(String(variable.prefix { $0 != "=" })) }
            unsafe entry = entry.successor()
        }
        return names.sorted()
    }

    /// Removes all of them. A private server's settings are complete, and a variable could send its clients elsewhere.
    ///
    /// Other threads must not read the environment meanwhile: call it at the program's start.
    static func clear() { for name in names { unsafe unsetenv(name) } }
}
