import Basis
import Model

// Messages with a rate: when a quantum is asked for, and what is taken back when a rate is lowered.
extension Dispatcher {
    func mayLeaseRateLimited(_ route: RouteState) -> Bool { route.rated.dueAt != nil && laneHasRoom(for: route) }

    /// When time alone allows the next quantum; nil: only other events do.
    var nextQuantum: MonotonicInstant? {
        guard case .off = quarantine, !isDraining, leasesOutstanding < settings.leasesMax else { return nil }
        return routes.lazy.filter { !$0.isLeasing && mayLeaseRateLimited($0) }.compactMap(\.rated.dueAt).min()
    }

    /// Messages of which so much is leased here for the lane that more would only wait. All pushes without a stream
    /// would leave at once when the lane recovers, beside what other processes send. The backlog of another lane is no
    /// reason for this lane to wait (P7).
    func messagesFull(on lane: LaneKey?) -> [MessageID] {
        var open: [OpenMessage] = []
        var places: [MessageID: Int] = [:]  // lookup only
        for state in runs.states where state.lane == lane {
            guard let rate = state.ratePerSecond else { continue }
            let (message, count) = (state.run.parcel.message, state.run.openCount)
            let place = places[message] ?? open.count
            if place == open.count {
                places[message] = place
                open.append(OpenMessage(message: message, rate: rate))
            }
            open[place].unanswered += count
            if !state.isSent { open[place].unsent += count }
        }
        return open.filter(\.isFull).map(\.message)
    }

    private struct OpenMessage {
        let message: MessageID
        let rate: Int32
        var unsent = 0
        var unanswered = 0

        var isFull: Bool {
            unsent >= MessagePace.unsentMax(perSecond: rate) || unanswered >= Int(rate) * MessagePace.secondsOpenMax
        }
    }

    /// Notes that fewer rate-limited pushes are in flight on the lane.
    mutating func noteLess(on lane: LaneKey?) {
        if !lanesWithLess.contains(lane) { lanesWithLess.append(lane) }
    }

    /// Asks for the messages that calls passed over, once for all that an event reports.
    mutating func askForPassed() {
        for lane in lanesWithLess { askForPassed(on: lane) }
        lanesWithLess.removeAll(keepingCapacity: true)
    }

    private mutating func askForPassed(on lane: LaneKey?) {
        guard routes.contains(where: { $0.lane == lane && !$0.rated.passed.isEmpty }) else { return }
        let full = messagesFull(on: lane)
        for place in routes.indices where routes[place].lane == lane {
            if !routes[place].rated.passed.allSatisfy(full.contains) { routes[place].askForPassed() }
        }
    }

    /// Takes back pushes without a stream that were leased at a higher rate, or at none. They go on at the message's
    /// present rate.
    mutating func noteRated(_ messages: [RatedMessage], _ actions: inout [DispatchAction]) {
        var rates: [MessageID: Int32] = [:]  // lookup only
        for rated in messages { rates[rated.message] = rated.perSecond }
        for place in runs.indices {
            guard let rate = rates[runs[place].run.parcel.message], runs[place].ratePerSecond != rate else { continue }
            let isSlower = runs[place].ratePerSecond.map { rate < $0 } ?? true
            runs[place].ratePerSecond = rate
            if isSlower {
                withdraw(place, &actions)
                runs[place].isSent = true
            }
            noteLess(on: runs[place].lane)
        }
    }
}
