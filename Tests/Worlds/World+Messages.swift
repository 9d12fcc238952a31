import Basis
import Content
import Encodings
import Model

// The messages and their audiences.
extension SimulatedWorld {
    mutating func scheduleMessages() {
        var lastSend = SimulatedTime.zero
        for number in 0..<plan.messages + plan.directs {
            let isNamed = number >= plan.messages || random.happens(perMille: plan.named)
            let isShort = random.happens(perMille: plan.shortLived)
            let message = write(number, isNamed: isNamed, lifetime: .seconds(isShort ? random.pick([30, 90]) : 86_400))
            messages.append(message)
            let latest = SimulatedTime(nanoseconds: plan.faultsEnd.nanoseconds * 3 / 4)
            var at = number == 0 ? SimulatedTime.milliseconds(10) : random.within(.zero...latest)
            // Half of the direct messages follow soon after others, whose routes are known then.
            if number > plan.messages, number % 2 == 1 { at = lastSend + random.within(.zero ... .seconds(5)) }
            lastSend = at
            queue.put(.send(number), at: at)
            drawLocalHour(of: number, sentAt: at)
            scheduleControls(number, sentAt: at)
        }
        scheduleLastControls()
    }

    /// Replaces a drawn message before anything happens, for scenario tests.
    package mutating func replaceMessage(
        _ number: Int, _ content: SimulatedContent, _ audience: Audience, _ urgency: MessageUrgency? = nil
    ) {
        let drawn = messages[number]
        let form = MessageForm(content, badge: .none, drawn.id)
        forms[drawn.id] = form
        messages[number] = SimulatedMessage(
            id: drawn.id, app: drawn.app, service: content.service,
            urgency: urgency ?? drawn.urgency, kind: form.kind, badge: .none, lifetime: drawn.lifetime,
            audience: audience)
    }

    private mutating func write(_ number: Int, isNamed: Bool, lifetime: Duration) -> SimulatedMessage {
        let app = AppID(Int64(random.within(1...plan.apps)))
        let id = MessageID(UniversalID(high: UInt64(number + 1), low: plan.seed))
        let content = random.happens(perMille: plan.otherTypes) ? random.pick(SimulatedContent.allCases) : .alert
        let badge = random.pick([BadgeChange.none, .increment, .increment, .value(7)])
        let form = MessageForm(content, badge: content.mayHaveBadge ? badge : .none, id)
        if form.kind != content.kind { fail("P2", "\(content) is for \(content.kind), not for \(form.kind)") }
        forms[id] = form
        var message = SimulatedMessage(
            id: id, app: app, service: content.service, urgency: isNamed ? .transactional : .bulk,
            kind: form.kind,
            badge: content.mayHaveBadge ? badge : .none, lifetime: lifetime,
            audience: isNamed ? drawNamed(number, app, form.kind) : drawBroadcast())
        message.ignored = drawIgnored(content)
        return message
    }

    private mutating func drawBroadcast() -> Audience {
        let selection = random.pick([
            Audience.Selection.all, .all, .tags(TagExpression(any: ["half", "third"])),
            .tags(TagExpression(all: ["half", "third"])), .tags(TagExpression(any: ["half"], none: ["third"])),
        ])
        return Audience(selection, providers: random.pick([nil, nil, nil, nil, [.apns], [.fcm]]))
    }

    /// Draws phones, users or tokens. Phones and users may have no token of the kind, and a few tokens are of another.
    /// One name, or one token per provider, belongs to no registration.
    private mutating func drawNamed(_ number: Int, _ app: AppID, _ kind: TokenKind) -> Audience {
        let share = number < plan.messages ? 500 : min(500, 3_000 / plan.devicesPerApp)
        let chosen = devices.filter { $0.app == app && random.happens(perMille: share) }
        switch random.below(3) {
        case 0: return .installations(chosen.map(\.installation) + ["nobody-\(number)"])
        case 1: return .users(chosen.compactMap(\.user) + ["nobody-\(number)"])
        default:
            let fitting = chosen.filter { $0.kind == kind || $0.provider == .fcm || random.happens(perMille: 100) }
            var targets = fitting.map { target($0.provider, $0.token, environmentReported(by: $0)) }
            targets.append(target(.apns, providers.issueToken(.apns, kind, .production), .production))
            targets.append(target(.fcm, providers.issueToken(.fcm, .alert, .production), .production))
            return .tokens(targets)
        }
    }

    private func target(_ provider: Provider, _ token: DeviceToken, _ environment: PushEnvironment) -> InlineTarget {
        InlineTarget(provider: provider, environment: environment, topic: "", token: token)
    }

    /// In some worlds all messages get one of a few hours.
    private mutating func drawHour() -> WallInstant {
        let hour = wall + .seconds(Int64(random.below(30)))
        guard let apart = plan.hoursApart else { return hour }
        return WallInstant(secondsSince1970: (hour.secondsSince1970 / apart + 1) * apart)
    }

    /// The due time, read by the wall clock of the gateway that is asked.
    private mutating func due(at hour: WallInstant, _ message: MessageID) -> WallInstant? {
        guard plan.wallClockOffMax + plan.wallDriftMax > 0 else { return hour }
        let clock = processes[random.below(processes.count)].wallClock
        let due: WallInstant?
        // A gateway whose clock is further off refuses it. The client then asks another gateway, whose clock is right.
        do { due = try SendTime.due(.instant(hour), now: clock.read(at: now)) } catch { return hour }
        if due == nil { incidents.note(.hourPassed) }
        hours[message] = hour + (.zero - max(.zero, clock.error(at: now)))
        return due
    }

    /// Lets a gateway accept the message.
    mutating func send(_ message: SimulatedMessage) {
        var message = message
        if random.happens(perMille: plan.scheduled), message.localSending == nil {
            message.dueAt = due(at: drawHour(), message.id)
        }
        store.accept(message, now: wall)
        noteRate(of: message.id)
        for process in processes where process.isAlive {
            queue.put(.notified(process.addressee), at: after(.zero ... .milliseconds(30)))
        }
    }
}
