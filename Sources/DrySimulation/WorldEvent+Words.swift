import DeliveryRules
import PushModel

// The events of a world as sentences, for who reads a trace.
extension WorldEvent: CustomStringConvertible {
    var description: String {
        switch self {
        case .wake(let to): "\(to): its alarm rings"
        case .housekeeping(let to): "\(to) keeps house"
        case .flush(let to): "\(to) hands answers to its dispatcher"
        case .notified(let to): "\(to) is told of work"
        case .stopsNotified(let to): "\(to) is told that something was said of a message"
        case .ends(let to): "\(to) ends"
        case .resolved(let to, let line, let lane):
            "\(to): route \(line.route.value) \(lane.map { "leaves by \($0.words)" } ?? "has no credential")"
        case .credentialsChanged(let to): "\(to) hears that credentials changed"
        case .laneCloses(let to, let lane): "\(to): \(lane.words) can't send"
        case .laneOpens(let to, let lane): "\(to): \(lane.words) can send"
        case .laneTimer(let to, let lane): "\(to): \(lane.words) looks at what waits"
        case .connectionDies(let to, _, let connection): "\(to): connection \(connection) answers no PING"
        case .lastStreamSaid(let to, _, let connection): "\(to): connection \(connection) is told its last stream"
        case .accessArrives(let to, _, let token): "\(to) gets \(token == nil ? "no" : "an") access token"
        case .callArrives(let call, let willBeAnswered):
            "the database gets \(call.words)\(willBeAnswered ? "" : ", whose caller won't hear of it")"
        case .callAnswered(let call, let reply): "\(call.words): \(reply.words)"
        case .pushArrives(let push): "\(push.provider) gets \(push.words)"
        case .streamEnds(let to, _, let stream, let end): "\(to): stream \(stream) ends, \(end.words)"
        case .saidAgain(let to, let lease, let position, _):
            "\(to) hears again of \(lease.words), position \(position)"
        case .restart(let process): "process \(process) starts"
        case .thaw(let process): "process \(process) gets time again"
        case .mischief(let mischief): mischief.words
        case .deviceEvent: "a device"
        case .changeOfHands: "a device changes hands"
        case .send(let number): "message \(number + 1) is sent to a gateway"
        case .wish(let number, let wish): "message \(number + 1): \(wish)"
        case .askArrives(let asking): "message \(asking.number + 1): a request arrives that its asker gave up"
        case .faultsEnd: "nothing goes wrong from now on"
        }
    }
}

extension Mischief {
    fileprivate var words: String {
        switch self {
        case .kill: "a process is killed"
        case .freeze: "a process gets no time"
        case .drain: "a process is asked to end"
        case .outage: "the database is gone"
        case .slowness: "the database is slow"
        case .unreachable: "a provider can't be reached"
        case .connectionTrouble: "a connection is in trouble"
        case .storm: "a provider refuses"
        case .credentialTrouble: "a credential is in trouble"
        case .revocation: "access tokens are revoked"
        case .tokenExpiry: "provider tokens are too old from now on"
        case .wave: "answers come late, in a wave"
        case .clockStep: "the database's clock steps"
        case .wallStep: "a process's clock steps"
        }
    }
}

extension Addressee: CustomStringConvertible {
    /// The process, and which of its lives.
    package var description: String { "process \(process).\(life)" }
}

extension LaneKey {
    fileprivate var words: String { "lane \(credential.value)" }
}

extension LeaseName {
    fileprivate var words: String { "parcel \(parcel.value), lease \(epoch)" }
}

extension SettleEntry {
    fileprivate var words: String {
        "\(pending.settlement.settles) of \(name.words), \(pending.settlement.pendingAfter) left open"
    }
}

extension StoreCall {
    fileprivate var words: String {
        switch request {
        case .poll: "\(from)'s question for work"
        case .lease(let request): "\(from)'s lease on route \(request.line.route.value)"
        case .renew(let leases): "\(from)'s renewal of \(leases.map(\.words).joined(separator: "; "))"
        case .verdicts(let entry): "\(from)'s \(entry.pending.verdicts.count) verdicts of \(entry.name.words)"
        case .settle(let turn): "\(from)'s settle \(turn.entries.map(\.words).joined(separator: "; "))"
        case .plan: "\(from)'s plan"
        case .keepUp(let round): "\(from)'s \(round.step?.words ?? "nothing")"
        case .quota(let project, let ask):
            "\(from) wants \(ask.wants.millionths) millionths of project \(project), holds \(ask.holds.millionths)"
        }
    }
}

extension UpkeepStep {
    fileprivate var words: String {
        switch self {
        case .rescue: "rescue"
        case .confirm: "look at doubts"
        case .fallDue: "look for hours that have come"
        case .look: "look for pauses, cancels and rates"
        case .hold(let message): "holding of message \(message.value.high)"
        case .end(let message): "ending of message \(message.value.high)"
        case .release(let message): "release of message \(message.value.high)"
        case .unpace(let message): "release of message \(message.value.high) from its rate"
        case .forgetStops: "forgetting of stops"
        case .forgetRates: "forgetting of rates"
        }
    }
}

extension StoreReply {
    fileprivate var words: String {
        switch self {
        case .failed: "no reply"
        case .routes(let routes, _, _): "\(routes.count) routes have work"
        case .leased(let parcels, _, _):
            parcels.isEmpty ? "nothing there" : parcels.map(\.words).joined(separator: "; ")
        case .renewed(let held): held.map { $0 ? "held" : "lost" }.joined(separator: "; ")
        case .verdictsWritten: "written"
        case .settled(let replies): replies.map { $0?.words ?? "refused" }.joined(separator: "; ")
        case .planned(let slice): slice.map { "\($0.members) members" } ?? "nothing to plan"
        case .quota(let grant): grant.map { "\($0.part.millionths) millionths" } ?? "overtaken"
        case .keptUp(let kept): "\(kept.count) rows\(kept.isFull ? ", there may be more" : "")"
        }
    }
}

extension SettleReply {
    fileprivate var words: String {
        switch self {
        case .settled: "written"
        case .fenced: "fenced"
        }
    }
}

extension WirePush {
    fileprivate var words: String {
        "stream \(stream): message \(message.value.high) for registration \(registration.value)"
    }
}

extension StreamEnd {
    fileprivate var words: String {
        switch self {
        case .answered(let answer): "\(answer.word.rawValue)\(answer.retryAfter.map { ", again in \($0) s" } ?? "")"
        case .fault(let isSent, let fault): "\(fault), \(isSent ? "sent" : "not sent")"
        }
    }
}

extension LeasedParcel {
    fileprivate var words: String {
        "parcel \(id.value), lease \(epoch), \(members.count) members, try \(attempt + 1)"
    }
}
