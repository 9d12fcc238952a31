import Basis
import Model

/// A request to a gateway.
enum Asking: Sendable {
    case send(Int)
    case control(Int, ControlRequest)

    var number: Int {
        switch self {
        case .send(let number), .control(let number, _): number
        }
    }
}

// The way between clients and gateways. Requests get lost, answers get lost, and requests take effect after the client
// gave up. A client without an answer asks again until it gets one, with the same idempotency key or without one.
extension SimulatedWorld {
    /// Sends a request. Its chances come from a generator of their own, so that other worlds stay the same.
    mutating func ask(_ asking: Asking) {
        // A client whose direct message was answered in time does not ask again.
        if case .send(let number) = asking, isDirect(number), acceptedReceived.contains(number) { return }
        guard plan.asksLost > 0, isFaulty else { return carryOut(asking, isReceived: true) }
        if case .control = asking, !acceptedReceived.contains(asking.number) {
            // A client can't name a message whose acceptance it did not receive.
            return askAgain(asking, at: now + .seconds(1))
        }
        let lot = asker.below(1_000)
        let again = now + asker.within(.seconds(1) ... .seconds(5))
        if lot < plan.asksLost {
            incidents.note(.askLost)
            askAgain(asking, at: again)
        } else if lot < 2 * plan.asksLost {
            incidents.note(.askUnreceived)
            carryOut(asking, isReceived: false)
            askAgain(asking, at: again)
        } else if lot < 3 * plan.asksLost {
            queue.put(.askArrives(asking), at: again + asker.within(.zero ... .seconds(30)))
            askAgain(asking, at: again)
        } else {
            carryOut(asking, isReceived: true)
        }
    }

    private mutating func askAgain(_ asking: Asking, at time: SimulatedTime) {
        switch asking {
        case .send(let number): queue.put(.send(number), at: time)
        case .control(let number, let control): queue.put(.control(number, control), at: time)
        }
    }

    /// Carries out a request whose client has given up and asked again.
    mutating func carryOutLate(_ asking: Asking) {
        incidents.note(.askLate)
        carryOut(asking, isReceived: false)
    }

    private mutating func carryOut(_ asking: Asking, isReceived: Bool) {
        switch asking {
        case .send(let number) where isDirect(number): askForCut(number, isAwaited: isReceived)
        case .send(let number): accept(number, isReceived: isReceived)
        case .control(let number, let control): write(control, of: number)
        }
    }

    private mutating func accept(_ number: Int, isReceived: Bool) {
        var message = messages[number]
        let times = acceptances[number, default: 0]
        acceptances[number] = times + 1
        if times > 0, plan.asksKeyed {
            // The first answer is repeated, and nothing else happens.
            incidents.note(.replayed)
        } else {
            if times > 0 { message = duplicate(of: message, number, times) }
            send(message)
        }
        guard isReceived else { return }
        messages[number] = message
        if acceptedReceived.insert(number).inserted { sent += 1 }
        if store.message(message.id) == nil { fail("P1", "an accepted message is missing") }
    }

    /// A message that was sent again without a key: another message to the same audience.
    mutating func duplicate(of message: SimulatedMessage, _ number: Int, _ times: Int) -> SimulatedMessage {
        incidents.note(.duplicate)
        var duplicate = message
        duplicate.id = MessageID(UniversalID(high: UInt64(1_000 * times + number + 1), low: plan.seed))
        forms[duplicate.id] = forms[message.id].map { MessageForm($0.content, badge: message.badge, duplicate.id) }
        return duplicate
    }

    /// Schedules a last resume for each message, after the faults: a pause may have taken effect late, after its
    /// resume.
    mutating func scheduleLastControls() {
        guard plan.asksLost > 0 else { return }
        for number in messages.indices {
            queue.put(.control(number, .resume), at: plan.faultsEnd + .seconds(40))
        }
    }
}
