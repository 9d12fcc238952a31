import Foundation
import Model
import TestSupport
import Testing

@Suite("A gateway that is killed by SIGKILL while it wakes devices", .onDatabaseServer())
struct KilledWakeUpTests {
    private static let node = "/base/\(World.app)/beds.json"
    private static let value = "7"

    @Test("tells each device the new value once, wherever it is killed", arguments: Step.allCases.filter(\.isOfWakeUps))
    func everyStep(step: Step) async throws {
        let devices = Device.some(live: 24, dead: 0, bad: 0)
        try await World.within(devices: devices) { world in
            let first = try await world.gateway(Fault(step: step))
            try await world.subscribeAll(through: first)
            _ = try? await first.caller.call("PUT", Self.node, Self.value)
            #expect(try await first.child.end() == .killed(signal: SIGKILL), "the fault killed the gateway")

            let second = try await world.gateway()
            // The first answer may have been lost, so the backend writes once more.
            _ = try await second.caller.expect(204, "PUT", Self.node, Self.value)
            try await eventually("every device to be told") { try world.pushes().count >= devices.count }
            try await eventually("the wake-up to be accounted for") {
                let left = "SELECT (SELECT count(*) FROM due_watches) + (SELECT count(*) FROM parcels)"
                return try await world.pool.number(left) == 0
            }
            try await second.stopGently()
            let told = try world.pushes().map { "\($0.token) \($0.value ?? "nothing")" }
            #expect(told.sorted() == devices.map { "\($0.token) \(Self.value)" }.sorted())
            let behind = "SELECT count(*) FROM subscription_progress WHERE sent_seq <> 1"
            #expect(try await world.pool.number(behind) == 0)
        }
    }
}

extension Step {
    fileprivate var isOfWakeUps: Bool { work == .wakeUp }
}

extension World {
    /// Subscribes each device to the values of a node that has none.
    fileprivate func subscribeAll(through gateway: Gateway) async throws {
        try await fill(through: gateway)
        let app = "/v1/apps/\(Self.app)"
        _ = try await gateway.caller.expect(200, "PATCH", app, #"{"wakeup": {"enabled": true}}"#)
        _ = try await gateway.caller.expect(204, "PUT", app + "/rules", #"{"rules": {".read": true}}"#)
        for device in devices {
            let subscription = "/base/\(Self.app)/.wakeup/beds?id=\(device.token)&mode=value"
            _ = try await gateway.caller.expect(204, "PUT", subscription)
        }
    }
}
