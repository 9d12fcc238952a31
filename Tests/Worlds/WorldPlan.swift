import QueueRules
import RegistryRules

/// Everything that one seed decides before the first event: how big the world is, and what will go wrong in it.
///
/// Each kind of fault is switched on or off by itself, so that some worlds have only one. Faults that always come
/// together hide each other.
package struct WorldPlan: Sendable {
    package let seed: UInt64
    package var processes: Int
    package var apps: Int
    package var devicesPerApp: Int
    package var messages: Int
    /// Messages to a few receivers on top. Where there are any, messages to named receivers are cut when they are
    /// accepted.
    package var directs = 0
    package var idsMax: Int
    package var parcelMembersMax: Int
    package var streamsMax: Int
    /// Per lane.
    package var connectionsMax = 1
    /// Per thousand installations.
    package var fcmDevices = 0
    /// Per thousand of Apple's installations: they name the wrong environment.
    package var mistaken = 0
    /// Whether the apps have credentials for APNs' sandbox too. Without them, everything is registered for production.
    package var hasSandbox = true
    /// Whether the apps have certificates of their own for calls.
    package var hasOwnCalls = false
    /// Per thousand of Apple's installations: they have tokens of other kinds too.
    package var manyKinds = 0
    /// The quota of an FCM project per minute; nil: none.
    package var requestsPerMinute: Int?
    /// Whether the apps' service accounts belong to one of Google's projects.
    package var isOneProject = false
    /// The lifetime of Google's access tokens, in seconds.
    package var accessSeconds: Int64 = 3_599
    package var settings: DispatcherSettings
    package var suspicion: SuspicionRule
    /// The most that a process's clock is fast or slow, in parts per million.
    package var driftMax: Int
    package var faultsEnd: SimulatedTime
    /// The most seconds that a gateway's wall clock is wrong at first, and the most that it drifts in parts per
    /// million.
    package var wallClockOffMax = 0
    package var wallDriftMax = 0
    /// Per thousand pauses that Google asks for: by a date.
    package var datedPauses = 0

    // Frequencies, per thousand.
    package var storeCallLost = 0
    package var storeReplyLost = 0
    package var storeCallLate = 0
    package var notificationLost = 0
    package var answerLost = 0
    package var requestLost = 0
    package var silent = 0
    package var streamRefused = 0
    package var answerDoubled = 0
    package var throttled = 0
    package var busy = 0
    package var messageRefused = 0
    package var staleGone = 0
    package var deadDevices = 0
    package var badTokens = 0
    package var poisonous = 0
    package var accessFailed = 0

    /// The average pause between two events of the kind; nil where it doesn't happen.
    package var killEvery: SimulatedTime?
    package var freezeEvery: SimulatedTime?
    package var drainEvery: SimulatedTime?
    package var outageEvery: SimulatedTime?
    package var unreachableEvery: SimulatedTime?
    package var credentialTroubleEvery: SimulatedTime?
    package var revocationEvery: SimulatedTime?
    package var waveEvery: SimulatedTime?
    package var connectionTroubleEvery: SimulatedTime?
    /// Per thousand GOAWAYs: one that names no stream comes first.
    package var goAwayPairs = 0
    package var slownessEvery: SimulatedTime?
    package var stormEvery: SimulatedTime?
    /// Apple's provider tokens expire, also those on their way.
    package var tokenExpiryEvery: SimulatedTime?
    /// The database's clock is set.
    package var clockStepEvery: SimulatedTime?
    /// A gateway's wall clock is set.
    package var wallStepEvery: SimulatedTime?
    package var deviceEventEvery: SimulatedTime?
    /// Devices get other owners and other tags.
    package var handsChangeEvery: SimulatedTime?
    package var upkeepLimits = UpkeepLimits()
    /// Per thousand upkeep steps that write something: their process is killed at about that time.
    package var stepKills = 0
    /// Per thousand requests, each: lost, carried out with the answer lost, and carried out late.
    package var asksLost = 0
    /// Whether a repeated request names the same idempotency key.
    package var asksKeyed = true

    /// The time from which Apple's production knows no token and its sandbox takes them all; nil: never.
    package var insideOutFrom: SimulatedTime?

    /// Per thousand messages.
    package var shortLived = 0
    /// Messages of another push type than alert.
    package var otherTypes = 0
    package var named = 0
    package var paused = 0
    package var cancelled = 0
    /// Messages that have a rate.
    package var rated = 0
    package var scheduled = 0
    /// Seconds between the hours at which messages may leave; nil: at any time.
    package var hoursApart: Int64?
    /// Messages at an hour of each device's own clock.
    package var local = 0

    /// The minute of the world at which the apps' quiet hours begin, and their length in minutes; nil: none.
    package var quietFrom: Int?
    package var quietMinutes = 0
    package var dailyCap: Int32?
    /// Per thousand messages: they ignore limits of their app.
    package var unsparing = 0

    /// Writes to the apps' data; 0: no phone watches any.
    package var writes = 0
    package var watchedPaths = 1
    /// Per thousand phones: they subscribe to a path from the start.
    package var subscribed = 0
    /// Per thousand subscriptions: they end within the world.
    package var shortSubscriptions = 0
    package var subscriberEventEvery: SimulatedTime?
    /// The most subscriptions that one fan-out reads of a watch.
    package var fanOutMax = 100
    package var gather: Duration = .seconds(1)
    package var wakeUpLifetime: Duration = .seconds(86_400)

    /// Updates of the apps' items; 0: no phone subscribes to any.
    package var updates = 0
    /// Per thousand phones: they follow items from the start, and have a trigger from the start.
    package var itemFollowers = 0
    package var itemTriggers = 0
    /// Per thousand subscriptions to items: they end within the world.
    package var shortItemSubscriptions = 0
    package var itemEventEvery: SimulatedTime?
    /// The pauses that subscriptions to items ask for, in seconds.
    package var itemPauses: [Int32?] = [0, 5]
    /// The most subscriptions that one transaction of rounds or releases takes.
    package var itemSlice = 100

    package init(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        self.seed = seed
        processes = random.within(1...3)
        apps = random.within(1...2)
        devicesPerApp = random.pick([1, 3, 8, 20, 60, 150])
        messages = random.within(1...6)
        idsMax = random.pick([1, 3, 10, 100])
        parcelMembersMax = random.pick([1, 2, 4, 8, 20])
        streamsMax = random.pick([1, 2, 8, 50])
        settings = WorldPlan.settings(&random)
        suspicion = SuspicionRule(window: .seconds(random.pick([60, 180])), shareMax: 0.2, sampleMin: 5)
        driftMax = random.pick([0, 200, 5_000])
        faultsEnd = .minutes(Int64(random.pick([2, 6, 12])))
        drawRates(&random)
        drawMischief(&random)
        drawMessages(&random)
        drawProviders(&random)
        drawControls(&random)
        drawLimits(&random)
        drawUndisturbed()
        drawWallClocks()
        drawLinks()
        drawUpkeep()
        drawOwners()
        drawDirects()
        drawWakeUps()
        drawItems()
    }

    /// A plan in which nothing goes wrong.
    private init(seed: UInt64, processes: Int, apps: Int, devicesPerApp: Int, messages: Int) {
        self.seed = seed
        self.processes = processes
        self.apps = apps
        self.devicesPerApp = devicesPerApp
        self.messages = messages
        idsMax = 10
        parcelMembersMax = 4
        streamsMax = 8
        settings = DispatcherSettings(leaseLength: .seconds(60), requestDeadline: .seconds(20))
        settings.laneSignalsMin = ThrottleSignals.signalsMin
        suspicion = SuspicionRule(window: .seconds(60), shareMax: 0.2, sampleMin: 5)
        driftMax = 0
        faultsEnd = .minutes(2)
    }

    private static func settings(_ random: inout SeededRandom) -> DispatcherSettings {
        let lease = random.pick([15, 60])
        let laneMembersMax = random.pick([1, 10, 1_000])
        var settings = DispatcherSettings(
            leaseLength: .seconds(lease), requestDeadline: .seconds(random.pick([2, lease / 3])))
        settings.settleEvery = .milliseconds(random.pick([50, 1_000]))
        settings.pollEvery = .seconds(random.pick([1, 5]))
        settings.laneMembersMax = laneMembersMax
        settings.membersMax = laneMembersMax * random.pick([1, 3])
        settings.laneParcelsMax = min(laneMembersMax, 20)
        settings.parcelsMax = min(laneMembersMax, 20) * 2
        settings.membersReserve = laneMembersMax
        settings.laneUrgentMax = max(1, laneMembersMax / 10)
        settings.urgentMax = laneMembersMax
        settings.leasesMax = 4
        settings.leaseGroup = LeaseGroup(parcelsMax: min(laneMembersMax, 64), membersMax: laneMembersMax)
        settings.retry = RetryPolicy(
            ceiling: .seconds(random.pick([8, 900])), budget: .seconds(random.pick([7_200, 7_200, 60])))
        settings.laneSignalsMin = ThrottleSignals.signalsMin
        return settings
    }

    private mutating func drawRates(_ random: inout SeededRandom) {
        func rate(_ choices: [Int]) -> Int { random.happens(perMille: 500) ? 0 : random.pick(choices) }
        storeCallLost = rate([5, 50, 150])
        storeReplyLost = rate([5, 50, 150])
        storeCallLate = rate([5, 50])
        notificationLost = rate([100, 1_000])
        answerLost = rate([10, 100])
        requestLost = rate([10, 100])
        silent = rate([5, 50])
        streamRefused = rate([10, 200])
        answerDoubled = rate([20, 200])
        throttled = rate([10, 200])
        busy = rate([10, 200])
        messageRefused = rate([10, 100])
        staleGone = rate([20, 200])
        deadDevices = rate([20, 200])
        badTokens = rate([20, 100])
        poisonous = random.happens(perMille: 850) ? 0 : 30
    }

    private mutating func drawMischief(_ random: inout SeededRandom) {
        func pause(_ choices: [Int64]) -> SimulatedTime? {
            random.happens(perMille: 500) ? nil : .seconds(random.pick(choices))
        }
        killEvery = pause([5, 20, 60])
        freezeEvery = pause([20, 60])
        drainEvery = pause([30, 90])
        outageEvery = pause([30, 120])
        unreachableEvery = pause([20, 90])
        credentialTroubleEvery = pause([20, 90])
        waveEvery = pause([60, 200])
        deviceEventEvery = pause([1, 5, 20])
        connectionsMax = random.pick([1, 1, 2, 3])
        connectionTroubleEvery = pause([2, 10, 40])
        slownessEvery = pause([30, 120])
        stormEvery = pause([60, 200])
        tokenExpiryEvery = pause([20, 90])
        clockStepEvery = random.happens(perMille: 150) ? .seconds(random.pick([20, 90])) : nil
    }

    private mutating func drawMessages(_ random: inout SeededRandom) {
        shortLived = random.pick([0, 0, 0, 300])
        otherTypes = random.pick([0, 0, 300, 700])
        named = random.pick([0, 300])
    }

    private mutating func drawProviders(_ random: inout SeededRandom) {
        fcmDevices = random.pick([0, 300, 300, 500, 1_000])
        manyKinds = random.pick([0, 0, 300, 700])
        requestsPerMinute = random.pick([nil, nil, 120, 600, 6_000])
        accessSeconds = random.pick([3_599, 3_599, 90])
        accessFailed = random.pick([0, 0, 300])
        revocationEvery = random.pick([nil, nil, .seconds(10), .seconds(60)])
        mistaken = random.pick([0, 0, 100, 500])
        hasSandbox = !random.happens(perMille: 150)
        isOneProject = random.happens(perMille: 300)
        hasOwnCalls = random.happens(perMille: 400)
    }

    private mutating func drawControls(_ random: inout SeededRandom) {
        // A generator of its own, so that worlds without rates stay the same.
        var apart = SeededRandom(seed: seed ^ 0x7a7e)
        rated = apart.happens(perMille: 200) ? apart.pick([300, 1_000]) : 0
        guard random.happens(perMille: 300) else { return }
        paused = random.pick([0, 300, 700])
        cancelled = random.pick([0, 300, 700])
        scheduled = random.pick([0, 500])
        local = random.pick([0, 500])
    }

    private mutating func drawLimits(_ random: inout SeededRandom) {
        guard random.happens(perMille: 300) else { return }
        quietFrom = random.pick([nil, -5, 0, 1, 3])
        quietMinutes = random.within(1...9)
        dailyCap = random.pick([nil, 1, 2, 4])
        unsparing = random.pick([0, 300])
    }

    /// Draws worlds without trouble of processes, database, connections and clocks, from a generator of its own.
    /// Checkers can judge there on the wire whether pushes leave at once and no faster than allowed, whatever providers
    /// and devices do.
    private mutating func drawUndisturbed() {
        var apart = SeededRandom(seed: seed ^ 0xca1f)
        guard apart.happens(perMille: 150) else { return }
        (killEvery, freezeEvery, outageEvery, slownessEvery) = (nil, nil, nil, nil)
        (connectionTroubleEvery, clockStepEvery, driftMax) = (nil, nil, 0)
        (storeCallLost, storeReplyLost, storeCallLate, notificationLost) = (0, 0, 0, 0)
        (rated, poisonous) = apart.pick([(0, 0), (0, 60), (700, 0), (700, 0)])
        // A message must be so large that its rate, or a stop, holds something back.
        if rated > 0 { devicesPerApp = 150 }
        if poisonous > 0 { devicesPerApp = max(devicesPerApp, 20) }
        named = max(named, 300)
        paused = max(paused, apart.pick([0, 500]))
        cancelled = max(cancelled, apart.pick([0, 300]))
        if paused > 0 { streamsMax = min(streamsMax, 2) }
    }

    /// Draws from a generator of its own, so that worlds without these faults stay the same.
    private mutating func drawLinks() {
        var apart = SeededRandom(seed: seed ^ 0x11c5)
        goAwayPairs = apart.pick([0, 0, 500, 1_000])
        asksLost = apart.pick([0, 0, 0, 50, 150])
        asksKeyed = apart.happens(perMille: 500)
    }

    /// Draws so few rows per transaction that most upkeep of small worlds takes several. It has a generator of its own.
    private mutating func drawUpkeep() {
        var apart = SeededRandom(seed: seed ^ 0x57e9)
        upkeepLimits = UpkeepLimits(
            messagesMax: apart.pick([1, 2, 4]), movedMax: apart.pick([1, 2, 8]), endedMax: apart.pick([1, 2, 4]),
            fallenMax: apart.pick([1, 1, 2]), rescuedMax: apart.pick([2, 8, 40]), judgedMax: apart.pick([2, 5, 20]))
        stepKills = apart.pick([0, 200, 500])
        hoursApart = apart.pick([nil, 60, 120])
    }

    /// Draws from a generator of its own, so that worlds without such changes stay the same.
    private mutating func drawOwners() {
        var apart = SeededRandom(seed: seed ^ 0x0a4d)
        handsChangeEvery = apart.pick([nil, nil, .seconds(1), .seconds(5)])
        guard handsChangeEvery != nil, apart.happens(perMille: 300) else { return }
        // A lane of one push a second, in which pushes wait while devices change hands.
        (requestsPerMinute, fcmDevices) = (60, max(fcmDevices, 500))
    }

    /// Draws from a generator of its own, so that worlds without direct messages stay the same.
    private mutating func drawDirects() {
        var apart = SeededRandom(seed: seed ^ 0xd12e)
        if apart.happens(perMille: 300) { directs = apart.within(3...12) }
    }

    /// Draws from a generator of its own, so that worlds without subscriptions stay the same.
    private mutating func drawWakeUps() {
        var apart = SeededRandom(seed: seed ^ 0x3a6e)
        guard apart.happens(perMille: 350) else { return }
        writes = apart.within(2...40)
        watchedPaths = apart.within(1...3)
        subscribed = apart.pick([300, 1_000])
        shortSubscriptions = apart.pick([0, 0, 200])
        subscriberEventEvery = apart.pick([nil, .seconds(1), .seconds(10)])
        fanOutMax = apart.pick([1, 3, 100])
        gather = apart.pick([.zero, .seconds(1), .seconds(10)])
        wakeUpLifetime = apart.pick([.seconds(86_400), .seconds(86_400), .seconds(60)])
    }

    /// Draws from a generator of its own, so that worlds without wrong clocks stay the same.
    private mutating func drawWallClocks() {
        var apart = SeededRandom(seed: seed ^ 0xc10c)
        guard apart.happens(perMille: 300) else { return }
        wallClockOffMax = apart.pick([2, 40, 5_400])
        wallDriftMax = apart.pick([0, 200, 5_000])
        wallStepEvery = apart.pick([nil, .seconds(20), .seconds(90)])
        datedPauses = apart.pick([0, 500])
        scheduled = max(scheduled, apart.pick([0, 500]))
    }

    /// A world in which nothing goes wrong, for scenarios about one thing that does.
    package static func calm(seed: UInt64, devicesPerApp: Int = 40) -> WorldPlan {
        WorldPlan(seed: seed, processes: 2, apps: 2, devicesPerApp: devicesPerApp, messages: 4)
    }

    /// Whether nothing in this world may keep a push from a device that can get it.
    package var everyoneIsReached: Bool {
        shortLived == 0 && wakeUpLifetime > .seconds(7_200) && dailyCap == nil && poisonous == 0 && cancelled == 0
            && settings.retry.budget >= .seconds(7_200)
            // A gateway whose clock is an hour behind waits an hour longer for a date.
            && !(wallClockOffMax > 3_600 && datedPauses > 0)
    }
}
