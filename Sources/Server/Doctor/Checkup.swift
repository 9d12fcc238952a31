import CommandLine
import Foundation
import Reactor

/// All checks, one after the other. A check is left out if an earlier one did not give what it needs.
struct Checkup {
    func run() async -> [Finding] {
        let (own, service) = (ProcessInfo.processInfo.environment, PackagedService())
        let hasData = FileManager.default.fileExists(atPath: "data/postgres")
        guard let environment = service.environment(of: own, hasData: hasData) else { return await findings(own, nil) }
        // Relative paths among its settings begin there.
        _ = FileManager.default.changeCurrentDirectoryPath(service.dataFolder)
        return [DoctorRules.examines(service)] + (await findings(environment, service.settingsFile))
    }

    /// - Parameter unitFile: the file that the variables were read from; nil: they are this process's own.
    private func findings(_ environment: [String: String], _ unitFile: String?) async -> [Finding] {
        let (settings, unknown): (Settings, [UnknownSetting])
        do {
            let reader = try SettingsReader(environment: environment, unitFile: unitFile)
            (settings, unknown) = (try reader.read(), reader.unknownVariables)
        } catch { return [.bad("settings", "\(error)", "correct it; carillon settings lists them all")] }
        var findings = DoctorRules.settings(unknown: unknown) + [files()]
        findings += KeyFiles.exposed(settings).map(DoctorRules.exposed)
        findings += listener(settings)
        findings.append(await GatewayCheck(settings: settings).run())
        let report = await database(settings)
        findings += report.findings
        findings += await ProviderCheck(settings: settings).run(used: report.used)
        return findings
    }

    private func files() -> Finding {
        DoctorRules.files(limits: (try? String(contentsOfFile: "/proc/self/limits", encoding: .utf8)) ?? "")
    }

    private func listener(_ settings: Settings) -> [Finding] {
        guard let files = ListenerFiles(settings) else { return DoctorRules.plainHTTP(at: settings.listen) }
        do throws(StartFault) {
            let expiry = DoctorRules.listener(notAfterSeconds: try files.read().notAfterSeconds, now: Clocks.wallNow())
            return [expiry] + DoctorRules.chain(missing: try files.missingIssuer(), in: files.certificate)
        } catch { return [.bad("TLS", error.description, "correct it; the gateway does not start with it")] }
    }
}
