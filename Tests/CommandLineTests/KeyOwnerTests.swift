import CommandLine
import Testing

@Suite("The app of a keys command")
struct KeyOwnerTests {
    @Test("comes from the option, then from CARILLON_APP, and means all apps only with --all-apps")
    func named() throws {
        let shell = ["CARILLON_APP": "garden"]
        #expect(try KeyOwner.slug(given: nil, environment: shell, isAllApps: false) == "garden")
        #expect(try KeyOwner.slug(given: "tower", environment: shell, isAllApps: false) == "tower")
        #expect(try KeyOwner.slug(given: nil, environment: shell, isAllApps: true) == nil)
    }

    @Test("never means all apps unless --all-apps is given, and given alone", arguments: [[:], ["CARILLON_APP": ""]])
    func noOwner(environment: [String: String]) {
        let fault = #expect(throws: CommandFault.self) {
            try KeyOwner.slug(given: nil, environment: environment, isAllApps: false)
        }
        #expect(fault?.kind == .usage && fault?.description.contains("--all-apps") == true)
        #expect(throws: CommandFault.self) {
            try KeyOwner.slug(given: "garden", environment: environment, isAllApps: true)
        }
    }
}
