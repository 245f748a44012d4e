package world

// ec2State is what EC2 holds: the network, what launches are made of, and what was launched. Maps are by ID.
type ec2State struct {
	facts *facts // read only

	net          network
	images       map[string]*Image
	imagePaths   map[string]string // SSM path to image
	templates    map[string]*LaunchTemplate
	templateIDs  map[string]string // by name
	fleets       map[string]*Fleet
	fleetIDs     []string // oldest first
	instances    map[string]*Instance
	spotRequests map[string]*SpotRequest
	detached     map[string]*Volume
	reservations map[string]*Reservation
	groups       map[string]*PlacementGroup
	pools        map[poolKey]*pool
	quotas       map[quotaKey]int
	quotaUsed    map[quotaKey]int
	statuses     map[string]*statusRecord
}

func (s *ec2State) init(f *facts) {
	*s = ec2State{
		facts: f, images: map[string]*Image{}, imagePaths: map[string]string{}, templates: map[string]*LaunchTemplate{}, templateIDs: map[string]string{},
		fleets: map[string]*Fleet{}, instances: map[string]*Instance{}, spotRequests: map[string]*SpotRequest{}, detached: map[string]*Volume{},
		reservations: map[string]*Reservation{}, groups: map[string]*PlacementGroup{}, pools: map[poolKey]*pool{}, quotas: map[quotaKey]int{},
		quotaUsed: map[quotaKey]int{}, statuses: map[string]*statusRecord{},
	}
	s.net.init()
}
