package ec2

import (
	"slices"
	"time"

	"github.com/kerf-sh/kerf/internal/sim/awssim/wire"
	"github.com/kerf-sh/kerf/internal/sim/awssim/world"
)

type describeImagesInput struct {
	paging
	Filters           []filter `query:"Filter"`
	IDs               []string `query:"ImageId"`
	Owners            []string `query:"Owner"`
	ExecutableBy      []string `query:"ExecutableBy"`
	IncludeDeprecated bool     `query:"IncludeDeprecated"`
	IncludeDisabled   bool     `query:"IncludeDisabled"`
}

type describeImagesOutput struct {
	Images    []image `xml:"imagesSet>item"`
	NextToken string  `xml:"nextToken,omitempty"`
}

type image struct {
	ImageID         string                     `xml:"imageId"`
	Location        string                     `xml:"imageLocation"`
	Name            string                     `xml:"name"`
	Description     string                     `xml:"description,omitempty"`
	State           string                     `xml:"imageState"`
	OwnerID         string                     `xml:"imageOwnerId"`
	OwnerAlias      string                     `xml:"imageOwnerAlias,omitempty"`
	CreationDate    string                     `xml:"creationDate"`
	DeprecationTime string                     `xml:"deprecationTime,omitempty"`
	Public          bool                       `xml:"isPublic"`
	Architecture    string                     `xml:"architecture"`
	Type            string                     `xml:"imageType"`
	Platform        string                     `xml:"platform,omitempty"`
	PlatformDetails string                     `xml:"platformDetails"`
	RootDeviceType  string                     `xml:"rootDeviceType"`
	RootDeviceName  string                     `xml:"rootDeviceName"`
	Disks           []world.BlockDeviceMapping `xml:"blockDeviceMapping>item"`
	Virtualization  string                     `xml:"virtualizationType"`
	Hypervisor      string                     `xml:"hypervisor"`
	EnaSupport      bool                       `xml:"enaSupport"`
	Tags            []tagItem                  `xml:"tagSet>item"`
}

// imageFilters works on images whose tags have been hidden from those who do not own them.
var imageFilters = filterable[world.Image]{
	attributes: map[string]func(*world.Image) []string{
		"architecture":        one(func(i *world.Image) string { return i.Arch }),
		"creation-date":       one(func(i *world.Image) string { return stamp(i.Created) }),
		"description":         one(func(i *world.Image) string { return i.Description }),
		"hypervisor":          one(func(*world.Image) string { return "xen" }),
		"image-id":            one(func(i *world.Image) string { return i.ID }),
		"image-type":          one(func(*world.Image) string { return "machine" }),
		"is-public":           yesNo(func(i *world.Image) bool { return i.Public }),
		"name":                one(func(i *world.Image) string { return i.Name }),
		"owner-alias":         one(func(i *world.Image) string { return i.OwnerAlias }),
		"owner-id":            one(func(i *world.Image) string { return i.OwnerID }),
		"platform":            one(func(i *world.Image) string { return i.Platform }),
		"root-device-name":    one(func(i *world.Image) string { return i.RootDevice }),
		"root-device-type":    one(func(*world.Image) string { return "ebs" }),
		"state":               one(func(i *world.Image) string { return i.State }),
		"virtualization-type": one(func(*world.Image) string { return "hvm" }),
	},
	tags: func(i *world.Image) map[string]string { return i.Tags },
}

func (s *service) describeImages(_ *wire.Request, in *describeImagesInput) (any, error) {
	now, self := s.world.Now(), s.world.Account()
	all := slices.DeleteFunc(s.world.Images(), func(i world.Image) bool {
		mine := i.OwnerID == self
		deprecated := !i.Deprecated.IsZero() && !now.Before(i.Deprecated)
		switch {
		case !mine && !i.Public && !slices.Contains(i.SharedWith, self):
			return true
		case len(in.Owners) > 0 && !slices.ContainsFunc(in.Owners, func(o string) bool { return owns(o, self, &i) }):
			return true
		case deprecated && !mine && !in.IncludeDeprecated && len(in.IDs) == 0:
			return true
		}
		return len(in.ExecutableBy) > 0 && !slices.ContainsFunc(in.ExecutableBy, func(by string) bool {
			return by == "all" && i.Public || by == "self" && slices.Contains(i.SharedWith, self)
		})
	})
	for n := range all {
		if all[n].OwnerID != self {
			all[n].Tags = nil // tags belong to the account that set them
		}
	}
	all, token, err := describe(all, in.IDs, in.Filters, in.paging, describing[world.Image]{
		id: func(i *world.Image) string { return i.ID }, filters: imageFilters, limits: limits{min: 1, max: 1000},
		missing: "InvalidAMIID.NotFound", what: "image id",
	})
	if err != nil {
		return nil, err
	}
	out := describeImagesOutput{NextToken: token}
	for _, i := range all {
		out.Images = append(out.Images, showImage(&i))
	}
	return out, nil
}

func owns(owner, self string, i *world.Image) bool {
	switch owner {
	case "self":
		return i.OwnerID == self
	case "amazon", "aws-marketplace", "aws-backup-vault":
		return i.OwnerAlias == owner
	}
	return i.OwnerID == owner
}

func showImage(i *world.Image) image {
	details := "Linux/UNIX"
	if i.Platform == "windows" {
		details = "Windows"
	}
	disk := func(device string, size int32) world.BlockDeviceMapping {
		return world.BlockDeviceMapping{DeviceName: device, Ebs: &world.EbsDevice{
			DeleteOnTermination: new(true), VolumeSize: &size, VolumeType: "gp3", Encrypted: new(false),
		}}
	}
	disks := []world.BlockDeviceMapping{disk(i.RootDevice, i.RootSizeGiB)}
	if i.DataDevice != "" {
		disks = append(disks, disk(i.DataDevice, i.DataSizeGiB))
	}
	return image{
		ImageID: i.ID, Location: i.OwnerAlias + "/" + i.Name, Name: i.Name, Description: i.Description, State: i.State,
		OwnerID: i.OwnerID, OwnerAlias: i.OwnerAlias, CreationDate: stamp(i.Created), DeprecationTime: stamp(i.Deprecated.Truncate(time.Minute)),
		Public: i.Public, Architecture: i.Arch, Type: "machine", Platform: i.Platform, PlatformDetails: details,
		RootDeviceType: "ebs", RootDeviceName: i.RootDevice, Virtualization: "hvm", Hypervisor: "xen", EnaSupport: true,
		Disks: disks,
		Tags:  tagItems(i.Tags),
	}
}
