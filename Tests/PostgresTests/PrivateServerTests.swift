import Glibc
import Postgres
import PrivatePostgres
import Synchronization
import TestSupport
import Testing

private func answers(_ settings: PostgresSettings) async throws -> Bool {
    var answer = false
    try await withPool(settings) { pool in answer = try await pool.run(query("SELECT true")).one(Bool.init) }
    return answer
}

@Suite("The gateway's own PostgreSQL")
struct PrivateServerTests {
    @Test("stays the same process on a second start, and when another process starts it")
    func adoption() async throws {
        try await withOwnServer { server, settings, folder in
            let first = await server.processID
            #expect(try await answers(settings))
            _ = try await server.start()
            #expect(await server.processID == first)
            let successor = PrivateServer(dataFolder: folder)
            let adopted = try await successor.start()
            #expect(try await answers(adopted))
            #expect(await successor.processID == first)
            await successor.stop()
            // An instance that started nothing stops nothing.
            await PrivateServer(dataFolder: folder).stop()
            #expect(PostmasterFile(in: folder)?.process != nil)
        }
    }

    @Test("stops when its last user stops it, and not before")
    func lastOneOut() async throws {
        try await withOwnServer { server, settings, folder in
            let process = try #require(await server.processID)
            let second = PrivateServer(dataFolder: folder)
            _ = try await second.start()
            #expect(await second.processID == process)
            await second.stop()
            #expect(try await answers(settings) && PostmasterFile(in: folder)?.process == process)
            _ = try await second.start()
            await server.stop()
            #expect(try await answers(settings) && PostmasterFile(in: folder)?.process == process)
            await second.stop()
            #expect(PostmasterFile(in: folder)?.process == nil)
        }
    }

    @Test("leaves no zombie process when it is stopped")
    func noZombie() async throws {
        try await withOwnServer { server, _, _ in
            let process = try #require(await server.processID)
            #expect(kill(process, 0) == 0)
            await server.stop()
            #expect(kill(process, 0) == -1)
        }
    }

    @Test("keeps committed data when it is killed and started again")
    func killed() async throws {
        try await withOwnServer { server, settings, folder in
            try await withPool(settings) { pool in
                try await pool.script("CREATE TABLE kept AS SELECT 42::int8 AS id")
            }
            try await killPostmaster(server)
            let again = try await PrivateServer(dataFolder: folder).start()
            try await withPool(again) { pool in
                let count = try await pool.count("kept")
                #expect(count == 1)
            }
            _ = try await server.start()
        }
    }

    @Test("restarts automatically when it dies", .timeLimit(.minutes(5)))
    func kept() async throws {
        try await withOwnServer { server, settings, _ in
            let news = Mutex<[PrivateServer.Event]>([])
            let service = Task { await server.keepRunning { one in news.withLock { $0.append(one) } } }
            let process = try #require(await server.processID)
            kill(process, SIGKILL)
            try await eventually("the server to be started again") { await server.processID != process }
            try await withPool(settings) { pool in _ = try await pool.run(query("SELECT 1")) }
            await server.stop()
            await service.value
            #expect(news.withLock { $0 } == [.ended, .runsAgain])
        }
    }

    /// Runs in a process of its own: the limit would affect the tests beside it.
    @Test("counts as running while the gateway has no file descriptor left")
    func noDescriptors() async {
        await #expect(processExitsWith: .success) {
            try await withOwnServer { server, _, _ in
                let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
                var limit = rlimit()
                unsafe getrlimit(resource, &limit)
                var none = rlimit(rlim_cur: 3, rlim_max: limit.rlim_max)
                unsafe setrlimit(resource, &none)
                let isRunning = await server.isRunning
                unsafe setrlimit(resource, &limit)
                try #require(isRunning)
                await server.stop()
                try #require(await !server.isRunning)
            }
        }
    }

    @Test("runs in a very deep folder with blanks and quotes in its path")
    func deepFolder() async throws {
        let parent = try ServerFolder.make()
        defer { ServerFolder.destroy(parent) }
        let deep = (0..<6).map { "a 'very' \"long\" name \($0) " + String(repeating: "x", count: 80) }
        let folder = parent + "/" + deep.joined(separator: "/")
        let server = PrivateServer(dataFolder: folder)
        let settings = try await server.start()
        #expect(try await answers(settings))
        await server.stop()
    }

    @Test("starts afresh if initdb was interrupted")
    func interrupted() async throws {
        let folder = try ServerFolder.make()
        defer { ServerFolder.destroy(folder) }
        unsafe mkdir(folder + "/postgres.new", 0o700)
        unsafe mkdir(folder + "/postgres.new/base", 0o700)
        let server = PrivateServer(dataFolder: folder)
        let settings = try await server.start()
        #expect(try await answers(settings))
        await server.stop()
    }

    @Test("starts despite a stale pid file whose number may belong to another process", arguments: [true, false])
    func stalePidFile(isAlive: Bool) async throws {
        try await withOwnServer { server, _, folder in
            await server.stop()
            let stranger = isAlive ? getpid() : 4_194_000
            let path = folder + "/postgres/postmaster.pid"
            let file = unsafe fopen(path, "w")
            let lines = "\(stranger)\n\(folder)/postgres\n1\n5432\n/tmp\n\n  1234567         7\nready   \n"
            unsafe fputs(lines, file)
            unsafe fclose(file)
            let again = try await server.start()
            #expect(try await answers(again))
            #expect(await server.processID != stranger)
        }
    }

    @Test("runs as an unprivileged user, with a socket that only its owner can reach")
    func unprivileged() async throws {
        try await withOwnServer { server, settings, folder in
            var status = stat()
            let process = try #require(await server.processID)
            #expect(unsafe stat("/proc/\(process)", &status) == 0)
            #expect(status.st_uid != 0)
            #expect(unsafe stat(folder + "/postgres", &status) == 0)
            #expect(status.st_mode & 0o077 == 0)
            try await withPool(settings) { pool in
                let socketFolder = try await pool.read(query("SHOW unix_socket_directories")).one(String.init)
                #expect(unsafe stat(socketFolder, &status) == 0)
                #expect(status.st_mode & 0o777 == 0o700)
                #expect(try await pool.read(query("SHOW listen_addresses")).one(String.init) == "")
            }
        }
    }

    @Test(
        "starts again after the modes of its folder were widened, and closes the folder to others",
        arguments: [0o2770, 0o755, 0o777])
    func widenedModes(mode: mode_t) async throws {
        try await withOwnServer { server, _, folder in
            await server.stop()
            #expect(unsafe chmod(folder + "/postgres", mode) == 0)
            let settings = try await server.start()
            #expect(try await answers(settings))
            var status = stat()
            #expect(unsafe stat(folder + "/postgres", &status) == 0)
            #expect(status.st_mode & 0o7777 == 0o700)
        }
    }

    @Test("logs no value from a failed statement")
    func silentLog() async throws {
        try await withOwnServer { server, settings, folder in
            try await withPool(settings) { pool in
                try await pool.script("CREATE TABLE tokens (token text PRIMARY KEY)")
                let insert = Statement("insert_token", "INSERT INTO tokens VALUES (:token)")
                for _ in 0..<2 {
                    _ = await failure { () async throws(PostgresError) in
                        try await pool.run(Query(insert) { $0.text("token", "hunter2") })
                    }
                }
                for sql in ["SELECT 'hunter2'::int4", "SELEC hunter2", "DO $$ BEGIN RAISE WARNING 'hunter2'; END $$"] {
                    _ = await failure { () async throws(PostgresError) in try await pool.script(sql) }
                }
            }
            await server.stop()
            let log = unsafe fopen(folder + "/postgres.log", "r")
            defer { unsafe fclose(log) }
            var bytes = [UInt8](repeating: 0, count: 1 << 20)
            let count = unsafe fread(&bytes, 1, bytes.count, log)
            let text = String(decoding: bytes[..<count], as: UTF8.self)
            #expect(text.contains("shut down"))
            #expect(!text.contains("hunter2"))
        }
    }

    @Test("reports a missing version or an unusable folder when it cannot start")
    func complaints() async throws {
        let folder = try ServerFolder.make()
        defer { ServerFolder.destroy(folder) }
        unsafe mkdir(folder + "/postgres", 0o700)
        let file = unsafe fopen(folder + "/postgres/PG_VERSION", "w")
        unsafe fputs("9.6\n", file)
        unsafe fclose(file)
        if getuid() == 0 { unsafe chown(folder + "/postgres", 65_534, 65_534) }
        await #expect(throws: PrivateServerError.versionMissing("9")) {
            try await PrivateServer(dataFolder: folder).start()
        }
        await #expect(
            throws: PrivateServerError.folderUnusable(path: "/proc/nowhere", reason: "No such file or directory")
        ) {
            try await PrivateServer(dataFolder: "/proc/nowhere").start()
        }
        #expect("\(PrivateServerError.programsMissing)".contains("apt install postgresql"))
    }

    /// The gateway of root would truncate any file of the machine.
    @Test(
        "touches no file behind another user's link in its folder", .enabled(if: getuid() == 0),
        arguments: ["postgres.log", "postgres.lock", "postgres.users"])
    func foreignLink(name: String) async throws {
        let folder = try ServerFolder.make()
        defer { ServerFolder.destroy(folder) }
        for target in ["of-root", "absent"] {
            let file = unsafe fopen(folder + "/of-root", "w")
            unsafe fputs("kept", file)
            unsafe fclose(file)
            #expect(unsafe symlink(folder + "/" + target, folder + "/" + name) == 0)
            #expect(unsafe lchown(folder + "/" + name, 65_534, 65_534) == 0)
            let fault = await #expect(throws: PrivateServerError.self) {
                try await PrivateServer(dataFolder: folder).start()
            }
            #expect(fault?.description.contains("\(name): is a symbolic link of another user") == true)
            var status = stat()
            #expect(unsafe stat(folder + "/of-root", &status) == 0 && status.st_size == 4)
            #expect(unsafe stat(folder + "/absent", &status) == -1)
            unsafe unlink(folder + "/" + name)
        }
    }
}
