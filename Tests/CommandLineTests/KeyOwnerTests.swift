import CommandLine
import Testing

@Suite("Whose keys a command means")
struct KeyOwnerTests {
    @Test("is the app that was named, else the shell's, and all apps where that was said")
    func named() throws {
        let shell = ["CARILLON_APP": "garden"]
        #expect(try KeyOwner.slug(given: nil, environment: shell, isAllApps: false) == "garden")
        #expect(try KeyOwner.slug(given: "tower", environment: shell, isAllApps: false) == "tower")
        #expect(try KeyOwner.slug(given: nil, environment: shell, isAllApps: true) == nil)
    }

    @Test("is never all apps by omission", arguments: [[:], ["CARILLON_APP": ""]])
    func nobody(environment: [String: String]) {
        let fault = #expect(throws: CommandFault.self) {
            try KeyOwner.slug(given: nil, environment: environment, isAllApps: false)
        }
        #expect(fault?.kind == .usage && fault?.description.contains("--all-apps") == true)
        #expect(throws: CommandFault.self) {
            try KeyOwner.slug(given: "garden", environment: environment, isAllApps: true)
        }
    }
}
