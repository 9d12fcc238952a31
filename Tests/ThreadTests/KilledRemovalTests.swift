import Foundation
import Model
import TestSupport
import Testing

@Suite("A gateway that is killed by SIGKILL while it removes a large node", .onDatabaseServer())
struct KilledRemovalTests {
    private static let node = "/base/\(World.app)/beds"
    /// The removal's own steps, and those of the first and the second portion as writes.
    private static let places =
        Step.allCases.filter { $0.work == .removal }.map { Fault(step: $0) }
        + [Fault(step: .nodeWritten), Fault(step: .nodeWritten, time: 2)]

    @Test("removes all of it once and nothing else, wherever it is killed", arguments: places)
    func everyStep(place: Fault) async throws {
        let device = Device.some(live: 1, dead: 0, bad: 0)
        try await World.within(devices: device) { world in
            let first = try await world.gateway()
            try await world.plant(for: device[0], through: first)
            try await first.stopGently()

            let second = try await world.gateway(place)
            _ = try? await second.caller.call("DELETE", Self.node + ".json")
            #expect(try await second.child.end() == .killed(signal: SIGKILL), "the fault killed the gateway")

            let third = try await world.gateway()
            if place.step == .removalWritten {
                // Nothing was promised, so the backend asks again.
                _ = try await third.caller.expect(202, "DELETE", Self.node + ".json")
            }
            try await eventually("the node to be removed and told") {
                let left = """
                    SELECT (SELECT count(*) FROM node_removals) + (SELECT count(*) FROM due_watches)
                        + (SELECT count(*) FROM parcels)
                    """
                return try await world.pool.number(left) == 0
            }
            _ = try await third.caller.expect(204, "PUT", Self.node + "/rose.json", "1")
            try await eventually("what is written later to be told") {
                try world.pushes().last?.value == #"{"rose":1}"#
            }
            try await third.stopGently()
            #expect(try world.pushes().dropLast().last?.value == "null", "the removed node was told")
            let nodes = "SELECT count(*) FROM nodes WHERE path IN ('/bedside', '/beds/rose')"
            #expect(try await world.pool.number(nodes) == 2)
            #expect(try await world.pool.number("SELECT count(*) FROM nodes") == 2)
            #expect(try await world.pool.number("SELECT weight_leaves FROM watches") == 1)
        }
    }
}

extension World {
    /// Writes a node that is too large for one write and a neighbour, and subscribes a device to the node.
    fileprivate func plant(for device: Device, through gateway: Gateway) async throws {
        try await fill(through: gateway)
        let app = "/v1/apps/\(Self.app)"
        let settings = #"{"wakeup": {"enabled": true, "gather_ms": 1, "weight_leaves": 1000000}}"#
        _ = try await gateway.caller.expect(200, "PATCH", app, settings)
        _ = try await gateway.caller.expect(204, "PUT", app + "/rules", #"{"rules": {".read": true}}"#)
        _ = try await gateway.caller.expect(204, "PUT", "/base/\(Self.app)/bedside.json", "1")
        for half in 0..<2 {
            let beds = (0..<5_001).map { #""\#(half)-\#($0)":1"# }.joined(separator: ",")
            _ = try await gateway.caller.expect(204, "PATCH", "/base/\(Self.app)/beds.json", "{\(beds)}")
        }
        let subscription = "/base/\(Self.app)/.wakeup/beds?id=\(device.token)&mode=value"
        _ = try await gateway.caller.expect(204, "PUT", subscription)
    }
}
