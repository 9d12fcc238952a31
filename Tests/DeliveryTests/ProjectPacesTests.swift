import Delivery
import Testing

@Suite("The paces of projects")
struct ProjectPacesTests {
    @Test("serve all credentials of one project together, and each project separately")
    func shared() {
        var paces = ProjectPaces()
        let (bells, chimes) = ("bells", "chimes")
        let first = paces.pace(of: bells, perMinute: 600) { _ in false }
        #expect(paces.pace(of: bells, perMinute: 600) { _ in false } === first)
        let other = paces.pace(of: chimes, perMinute: 600) { $0 == bells }
        #expect(other !== first)
        #expect(paces.pace(of: bells, perMinute: 600) { _ in false } === first)
    }

    @Test("end with the last credential of their project when another project comes")
    func forgotten() {
        var paces = ProjectPaces()
        let (bells, chimes) = ("bells", "chimes")
        let first = paces.pace(of: bells, perMinute: 600) { _ in false }
        _ = paces.pace(of: chimes, perMinute: 600) { _ in false }
        #expect(paces.pace(of: bells, perMinute: 600) { _ in true } !== first)
    }
}
