import Delivery
import FCM
import Testing

@Suite("The paces of Google's projects")
struct ProjectPacesTests {
    @Test("serve all credentials of one project together, and each project separately")
    func shared() throws {
        var paces = ProjectPaces(perMinute: 600)
        let (bells, chimes) = (try #require(FCMProject("bells")), try #require(FCMProject("chimes")))
        let first = paces.pace(of: bells) { _ in false }
        #expect(paces.pace(of: bells) { _ in false } === first)
        let other = paces.pace(of: chimes) { $0 == bells }
        #expect(other !== first)
        #expect(paces.pace(of: bells) { _ in false } === first)
    }

    @Test("end with the last credential of their project when another project comes")
    func forgotten() throws {
        var paces = ProjectPaces(perMinute: 600)
        let (bells, chimes) = (try #require(FCMProject("bells")), try #require(FCMProject("chimes")))
        let first = paces.pace(of: bells) { _ in false }
        _ = paces.pace(of: chimes) { _ in false }
        #expect(paces.pace(of: bells) { _ in true } !== first)
    }
}
