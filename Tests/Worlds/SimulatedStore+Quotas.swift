import Basis
import LaneRules
import Model

/// A process that sends to a project.
package struct ProjectSenderRow: Equatable, Sendable {
    package let project: String
    package let process: ProcessID
    package var heardAt: WallInstant
}

extension SimulatedStore {
    /// Records that the process sends to the project. Returns how many processes do, with this one.
    package mutating func countSenders(to project: String, with process: ProcessID, now: WallInstant) -> Int {
        projectSenders.removeAll { row in
            let age = now - row.heardAt
            return row.process != process && (age > .seconds(60) || age < .seconds(-60))
        }
        if let place = projectSenders.firstIndex(where: { $0.project == project && $0.process == process }) {
            projectSenders[place].heardAt = now
        } else {
            projectSenders.append(ProjectSenderRow(project: project, process: process, heardAt: now))
        }
        return projectSenders.count { row in
            let age = now - row.heardAt
            return row.project == project && age < SharedPace.countedFor && age > .zero - SharedPace.countedFor
        }
    }
}
