package ec2

import (
	"fmt"

	"github.com/kerf-sh/kerf/internal/sim/awssim/wire"
	"github.com/kerf-sh/kerf/internal/sim/awssim/world"
)

type describeSpotInstanceRequestsInput struct {
	paging
	Filters []filter `query:"Filter"`
	IDs     []string `query:"SpotInstanceRequestId"`
}

type describeSpotInstanceRequestsOutput struct {
	Requests  []spotRequest `xml:"spotInstanceRequestSet>item"`
	NextToken string        `xml:"nextToken,omitempty"`
}

type spotRequest struct {
	ID           string     `xml:"spotInstanceRequestId"`
	SpotPrice    string     `xml:"spotPrice"`
	Type         string     `xml:"type"`
	State        string     `xml:"state"`
	Status       spotStatus `xml:"status"`
	InstanceID   string     `xml:"instanceId"`
	CreateTime   string     `xml:"createTime"`
	Product      string     `xml:"productDescription"`
	Zone         string     `xml:"launchedAvailabilityZone"`
	Interruption string     `xml:"instanceInterruptionBehavior"`
	Spec         struct {
		ImageID      string  `xml:"imageId"`
		InstanceType string  `xml:"instanceType"`
		SubnetID     string  `xml:"subnetId,omitempty"`
		Groups       []group `xml:"groupSet>item"`
	} `xml:"launchSpecification"`
	Tags []tagItem `xml:"tagSet>item"`
}

type spotStatus struct {
	Code       string `xml:"code"`
	Message    string `xml:"message"`
	UpdateTime string `xml:"updateTime,omitempty"`
}

// spotRequestOf is a request with the instance that it brought.
type spotRequestOf struct {
	world.SpotRequest
	instance world.Instance
}

// status is what became of a request.
//
// Source: Amazon EC2 User Guide, "Spot request status".
func (r *spotRequestOf) status() (state string, s spotStatus) {
	i := &r.instance
	switch {
	case i.State != world.StateShuttingDown && i.State != world.StateTerminated:
		return "active", spotStatus{"fulfilled", "Your Spot request is fulfilled.", stamp(r.Created)}
	case i.StateReasonCode == "Client.UserInitiatedShutdown":
		return "closed", spotStatus{"instance-terminated-by-user", "Spot Instance terminated due to user-initiated termination.", stamp(i.TerminatedAt)}
	case i.StateReasonCode == "Server.SpotInstanceTermination":
		return "closed", spotStatus{"instance-terminated-no-capacity", "Your Spot Instance was terminated because there is no Spot capacity available that matches your request.", stamp(i.TerminatedAt)}
	}
	return "closed", spotStatus{"system-error", "There was an unexpected system error.", stamp(i.TerminatedAt)}
}

var spotRequestFilters = filterable[spotRequestOf]{
	attributes: map[string]func(*spotRequestOf) []string{
		"create-time":                one(func(r *spotRequestOf) string { return stamp(r.Created) }),
		"instance-id":                one(func(r *spotRequestOf) string { return r.InstanceID }),
		"launch.image-id":            one(func(r *spotRequestOf) string { return r.instance.ImageID }),
		"launch.instance-type":       one(func(r *spotRequestOf) string { return r.Type }),
		"launched-availability-zone": one(func(r *spotRequestOf) string { return r.Zone }),
		"spot-instance-request-id":   one(func(r *spotRequestOf) string { return r.ID }),
		"state":                      one(func(r *spotRequestOf) string { state, _ := r.status(); return state }),
		"status-code":                one(func(r *spotRequestOf) string { _, s := r.status(); return s.Code }),
		"type":                       one(func(*spotRequestOf) string { return "one-time" }),
	},
	tags: func(r *spotRequestOf) map[string]string { return r.Tags },
}

func (s *service) describeSpotInstanceRequests(_ *wire.Request, in *describeSpotInstanceRequestsInput) (any, error) {
	instances := map[string]world.Instance{}
	for _, i := range s.world.Instances() {
		instances[i.ID] = i
	}
	var list []spotRequestOf
	for _, r := range s.world.SpotRequests() {
		if i, visible := instances[r.InstanceID]; visible {
			list = append(list, spotRequestOf{r, i})
		}
	}
	all, token, err := describe(list, in.IDs, in.Filters, in.paging, describing[spotRequestOf]{
		id: func(r *spotRequestOf) string { return r.ID }, filters: spotRequestFilters, limits: describeLimits,
		missing: "InvalidSpotInstanceRequestID.NotFound", what: "spot instance request ID", exclusive: true,
	})
	if err != nil {
		return nil, err
	}
	out := describeSpotInstanceRequestsOutput{NextToken: token}
	names := s.groupNames()
	for i := range all {
		r := &all[i]
		x := spotRequest{
			ID: r.ID, Type: "one-time", InstanceID: r.InstanceID, CreateTime: stamp(r.Created), Product: "Linux/UNIX", Zone: r.Zone,
			Interruption: "terminate", Tags: tagItems(r.Tags),
		}
		x.State, x.Status = r.status()
		if p, ok := s.world.OnDemandPrice(r.Type); ok { // what is bid where nothing is said
			x.SpotPrice = fmt.Sprintf("%.6f", float64(p)/1e6)
		}
		if img, ok := s.world.Image(r.instance.ImageID); ok && img.Family == world.FamilyWindows {
			x.Product = "Windows"
		}
		x.Spec.ImageID, x.Spec.InstanceType, x.Spec.SubnetID = r.instance.ImageID, r.Type, r.instance.SubnetID
		x.Spec.Groups = groups(r.instance.SecurityGroupIDs, names)
		out.Requests = append(out.Requests, x)
	}
	return out, nil
}
