package cloud

import "time"

// ZoneShift is a zone that the cluster's traffic is moved away from, because something is wrong there.
type ZoneShift struct {
	ZoneID string
	// Zone is its name; empty as long as no node class has a subnet there.
	Zone string
	// Until is when the shift ends by itself; zero for one that the cloud began and will end.
	Until time.Time
}
