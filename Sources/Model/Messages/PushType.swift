/// The type of a push, named as in APNs. The numbers are stored in the database.
///
/// One table in module APNs holds each type's rules for topic, priority, size and repetition.
package enum PushType: Int16, Hashable, Sendable, NamedCase {
    case alert = 1
    case background = 2
    case voip = 3
    case complication = 4
    case fileProvider = 5
    case mdm = 6
    case liveActivity = 7
    case pushToTalk = 8
    case location = 9
    case widgets = 10
    case controls = 11

    /// The value of the header `apns-push-type`.
    package var name: String {
        switch self {
        case .alert: "alert"
        case .background: "background"
        case .voip: "voip"
        case .complication: "complication"
        case .fileProvider: "fileprovider"
        case .mdm: "mdm"
        case .liveActivity: "liveactivity"
        case .pushToTalk: "pushtotalk"
        case .location: "location"
        case .widgets: "widgets"
        case .controls: "controls"
        }
    }
}
