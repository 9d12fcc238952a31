import CommandLine
import Foundation

// The PostgreSQL of a gateway that is measured.
extension OwnGateway {
    /// The settings of another program of ours that works on a database of this gateway's PostgreSQL.
    func settings(ofDatabase name: String) throws(CommandFault) -> [String: String] {
        guard let socket = databaseSocketFolder else {
            throw CommandFault(.failed, "the gateway's PostgreSQL has ended")
        }
        let host = socket.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? socket
        return [
            "CARILLON_DATABASE_URL": "postgresql://carillon@\(host)/\(name)",
            "CARILLON_ADMIN_KEY": try text(ofFile: keyFile).filter { !$0.isNewline },
            "CARILLON_MASTER_KEY_FILE": dataFolder + "/master-key",
        ]
    }

    /// The process id of its private PostgreSQL: the first line of `postmaster.pid`.
    var databaseProcess: Int32? { databaseLine(1).flatMap { Int32($0) } }

    /// The folder of that server's socket: the fifth line.
    var databaseSocketFolder: String? { databaseLine(5) }

    private func databaseLine(_ number: Int) -> String? {
        let lines = try? text(ofFile: dataFolder + "/postgres/postmaster.pid")
            .split(separator: "\n", omittingEmptySubsequences: false)
        return lines.flatMap { $0.count >= number ? String($0[number - 1]) : nil }
    }
}
