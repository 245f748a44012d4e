package world

import (
	"cmp"
	"maps"
	"slices"
	"strings"
)

// maxTags is how many tags a resource may carry; those that AWS adds do not count.
const maxTags = 50

// checkTags judges tags that a caller wants to set.
func checkTags(tags []Tag) error {
	for _, t := range tags {
		switch {
		case t.Key == "":
			return Errorf("InvalidParameterValue", "Tag keys must not be empty.")
		case len(t.Key) > 127+1:
			return Errorf("InvalidParameterValue", "Tag key %q is longer than 128 characters.", t.Key)
		case len(t.Value) > 256:
			return Errorf("InvalidParameterValue", "The value of tag %q is longer than 256 characters.", t.Key)
		case strings.HasPrefix(strings.ToLower(t.Key), "aws:"):
			return Errorf("InvalidParameterValue", "Tag keys starting with 'aws:' are reserved for internal use")
		}
	}
	return nil
}

// CheckTags judges the tag specifications of a call and returns the tags for one type of resource.
func CheckTags(specs []TagSpecification, resourceType string) (map[string]string, error) {
	for _, s := range specs {
		if err := checkTags(s.Tags); err != nil {
			return nil, err
		}
		if s.ResourceType != resourceType {
			return nil, Errorf("InvalidParameterValue",
				"'%s' is not a valid taggable resource type for this operation; expected '%s'.", s.ResourceType, resourceType)
		}
	}
	return tagsFor(specs, resourceType), nil
}

// resource is anything that carries tags.
type resource struct {
	kind     string
	tags     *map[string]string
	instance *Instance // set when kind is instance
}

// resourceLocked finds what an id belongs to.
func (w *World) resourceLocked(id string) (resource, bool) {
	prefix, _, _ := strings.Cut(id, "-")
	switch prefix {
	case "i":
		if i := w.visibleLocked(id); i != nil {
			return resource{"instance", &i.Tags, i}, true
		}
	case "vol", "eni":
		if v := w.ec2.detached[id]; v != nil {
			return resource{"volume", &v.Tags, nil}, true
		}
		for _, i := range w.ec2.instances {
			for n := range i.Volumes {
				if i.Volumes[n].VolumeID == id {
					return resource{"volume", &i.Volumes[n].Tags, nil}, true
				}
			}
			for n := range i.Interfaces {
				if i.Interfaces[n].ID == id {
					return resource{"network-interface", &i.Interfaces[n].Tags, nil}, true
				}
			}
		}
	case "subnet":
		return tagged("subnet", w.ec2.net.subnets[id], func(s *Subnet) *map[string]string { return &s.Tags })
	case "sg":
		return tagged("security-group", w.ec2.net.groups[id], func(g *SecurityGroup) *map[string]string { return &g.Tags })
	case "vpc":
		return tagged("vpc", w.ec2.net.vpcs[id], func(v *VPC) *map[string]string { return &v.Tags })
	case "ami":
		return tagged("image", w.ec2.images[id], func(i *Image) *map[string]string { return &i.Tags })
	case "lt":
		return tagged("launch-template", w.ec2.templates[id], func(t *LaunchTemplate) *map[string]string { return &t.Tags })
	case "fleet":
		return tagged("fleet", w.ec2.fleets[id], func(f *Fleet) *map[string]string { return &f.Tags })
	case "sir":
		return tagged("spot-instances-request", w.ec2.spotRequests[id], func(r *SpotRequest) *map[string]string { return &r.Tags })
	case "cr":
		return tagged("capacity-reservation", w.ec2.reservations[id], func(r *Reservation) *map[string]string { return &r.Tags })
	case "pg":
		return tagged("placement-group", w.ec2.groups[id], func(g *PlacementGroup) *map[string]string { return &g.Tags })
	}
	return resource{}, false
}

func tagged[T any](kind string, v *T, tags func(*T) *map[string]string) (resource, bool) {
	if v == nil {
		return resource{}, false
	}
	return resource{kind: kind, tags: tags(v)}, true
}

func notFound(id string) *Error {
	code := map[string]string{
		"i": "InvalidInstanceID.NotFound", "vol": "InvalidVolume.NotFound", "eni": "InvalidNetworkInterfaceID.NotFound",
		"subnet": "InvalidSubnetID.NotFound", "sg": "InvalidGroup.NotFound", "vpc": "InvalidVpcID.NotFound",
		"ami": "InvalidAMIID.NotFound", "lt": "InvalidLaunchTemplateId.NotFound", "fleet": "InvalidFleetId.NotFound",
		"sir": "InvalidSpotInstanceRequestID.NotFound", "cr": "InvalidCapacityReservationId.NotFound", "pg": "InvalidPlacementGroupId.NotFound",
	}
	prefix, _, _ := strings.Cut(id, "-")
	if c, ok := code[prefix]; ok {
		return Errorf(c, "The ID '%s' does not exist", id)
	}
	return Errorf("InvalidID", "The ID '%s' is not valid", id)
}

// Tag sets tags on resources. One unknown id refuses the whole call.
func (w *World) Tag(ids []string, tags []Tag) error {
	if err := checkTags(tags); err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	set := map[string]string{}
	for _, t := range tags {
		set[t.Key] = t.Value
	}
	found, err := w.resourcesLocked(ids)
	if err != nil {
		return err
	}
	for n, r := range found {
		if own := len(ownTags(*r.tags, set)); own > maxTags {
			return Errorf("TagLimitExceeded", "%s would carry %d tags; the most is %d.", ids[n], own, maxTags)
		}
	}
	for _, r := range found {
		w.setTagsLocked(r, set, nil)
	}
	return nil
}

// ownTags is the union of two sets without the tags that AWS adds.
func ownTags(a, b map[string]string) map[string]string {
	out := map[string]string{}
	maps.Copy(out, a)
	maps.Copy(out, b)
	maps.DeleteFunc(out, func(k, _ string) bool { return strings.HasPrefix(k, "aws:") })
	return out
}

// Untag removes tags from resources: those whose key is in keys and whose value is the one given there, or any if that is
// nil. A nil map removes all tags that are not AWS's own.
func (w *World) Untag(ids []string, keys map[string]*string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	found, err := w.resourcesLocked(ids)
	if err != nil {
		return err
	}
	for _, r := range found {
		var del []string
		for k, v := range *r.tags {
			want, named := keys[k]
			switch {
			case strings.HasPrefix(k, "aws:"):
			case keys == nil, named && (want == nil || *want == v):
				del = append(del, k)
			}
		}
		w.setTagsLocked(r, nil, del)
	}
	return nil
}

func (w *World) resourcesLocked(ids []string) ([]resource, error) {
	var out []resource
	for _, id := range ids {
		r, ok := w.resourceLocked(id)
		if !ok {
			return nil, notFound(id)
		}
		out = append(out, r)
	}
	return out, nil
}

func (w *World) setTagsLocked(r resource, set map[string]string, del []string) {
	if i := r.instance; i != nil {
		if d := w.delayLocked(FaultLateTags, i.Type, i.Zone); d > 0 || len(i.late) > 0 {
			at := w.clock.Now().Add(d)
			if n := len(i.late); n > 0 && i.late[n-1].at.After(at) {
				at = i.late[n-1].at // changes become visible in the order in which they were made
			}
			i.late = append(i.late, lateTags{at: at, set: set, del: del})
			return
		}
	}
	if *r.tags == nil {
		*r.tags = map[string]string{}
	}
	maps.Copy(*r.tags, set)
	for _, k := range del {
		delete(*r.tags, k)
	}
}

// TagRecord is one tag of one resource.
type TagRecord struct{ ResourceID, ResourceType, Key, Value string }

// AllTags returns the tags of all resources, by resource and key.
func (w *World) AllTags() []TagRecord {
	w.mu.Lock()
	defer w.mu.Unlock()
	var ids []string
	for _, i := range w.ec2.instances {
		ids = append(ids, i.ID)
		for _, v := range i.Volumes {
			ids = append(ids, v.VolumeID)
		}
		for _, n := range i.Interfaces {
			ids = append(ids, n.ID)
		}
	}
	ids = slices.AppendSeq(ids, maps.Keys(w.ec2.net.subnets))
	ids = slices.AppendSeq(ids, maps.Keys(w.ec2.net.groups))
	ids = slices.AppendSeq(ids, maps.Keys(w.ec2.net.vpcs))
	ids = slices.AppendSeq(ids, maps.Keys(w.ec2.images))
	ids = slices.AppendSeq(ids, maps.Keys(w.ec2.templates))
	ids = slices.AppendSeq(ids, maps.Keys(w.ec2.fleets))
	ids = slices.AppendSeq(ids, maps.Keys(w.ec2.detached))
	ids = slices.AppendSeq(ids, maps.Keys(w.ec2.spotRequests))
	ids = slices.AppendSeq(ids, maps.Keys(w.ec2.reservations))
	ids = slices.AppendSeq(ids, maps.Keys(w.ec2.groups))
	var out []TagRecord
	for _, id := range ids {
		r, ok := w.resourceLocked(id)
		if !ok {
			continue
		}
		for k, v := range *r.tags {
			out = append(out, TagRecord{id, r.kind, k, v})
		}
	}
	slices.SortFunc(out, func(a, b TagRecord) int {
		return cmp.Or(cmp.Compare(a.ResourceID, b.ResourceID), cmp.Compare(a.Key, b.Key))
	})
	return out
}
