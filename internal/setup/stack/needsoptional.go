package stack

import (
	"slices"
	"strings"
)

// optionalNeeds are those of features that the controller does not have on by default, or that EC2 asks for in the
// controller's name.
func optionalNeeds() []Need {
	var list []Need
	add := func(option string, on func(*Options) bool, needs ...Need) {
		for _, n := range needs {
			n.Feature, n.Option, n.on = featureUnused, option, on
			list = append(list, n)
		}
	}
	trials := map[string]string{"ec2:CreateFleet": "CreateFleetAuthCheckFailed", "ec2:RunInstances": "RunInstancesAuthCheckFailed"}
	launch := func(kind, why string, without func(action string) string) []Need {
		var out []Need
		for _, a := range launches {
			out = append(out, Need{Action: a, Kinds: []string{kind}, Sid: "AllowScopedEC2InstanceAccessActions", Before: "AllowScopedEC2InstanceActions",
				Why: why, Without: without(a), resources: []string{own(kind)}})
		}
		return out
	}
	launched := func(string) string { return "condition Launched of the NodeClaim" }
	tried := func(action string) string {
		return "condition ValidationSucceeded of the EC2NodeClass, reason " + trials[action]
	}
	add("--capacity-reservations", func(o *Options) bool { return o.CapacityReservations }, append(launch("capacity-reservation", "instances in reserved capacity", launched),
		read("", "ec2:DescribeCapacityReservations", "reservations that a class selects",
			"condition CapacityReservationsReady of the EC2NodeClass, reason LookupFailed"))...)
	add("--placement-groups", func(o *Options) bool { return o.PlacementGroups }, append(launch("placement-group", "instances in a placement group", tried),
		read("", "ec2:DescribePlacementGroups", "placement groups that a class selects",
			"condition PlacementGroupReady of the EC2NodeClass, reason PlacementGroupResolutionFailed"))...)
	add("--zonal-shift", func(o *Options) bool { return o.ZonalShift }, Need{
		Action: "arc-zonal-shift:GetManagedResource", Kinds: []string{"cluster"}, Sid: "AllowZonalShiftStatusReadOnly", Why: "zones that traffic was moved away from",
		Without: `log "zonal shifts could not be read; what was known of them stays"; zones that traffic is shifted away from are launched in`, resources: []string{clusterARN()}, context: map[string][]string{"arc-zonal-shift:ResourceIdentifier": {clusterARN()}},
	})
	part := func(before string, kinds ...string) Need {
		n := Need{
			Action: "ec2:RunInstances", Operation: "ec2:CreateFleet, ec2:RunInstances (trial)", Kinds: kinds, Sid: "AllowUserLaunchTemplateParts", Before: before,
			Why:     "what such a template makes or uses that a fleet can't tag",
			Without: "condition ValidationSucceeded of the EC2NodeClass, reason RunInstancesAuthCheckFailed",
			context: map[string][]string{keyLaunchTemplate: {own("launch-template")}},
		}
		for _, kind := range kinds {
			n.resources = append(n.resources, own(kind))
		}
		return n
	}
	var templates []Need
	for _, a := range launches {
		templates = append(templates, Need{Action: a, Kinds: []string{"launch-template of yours"}, Sid: "AllowUserLaunchTemplates",
			Before: "AllowScopedEC2InstanceActions", Why: "launches from a template that you made",
			Without: tried(a), resources: []string{own("launch-template")}, context: having(map[string]string{tagDiscover: refCluster})})
	}
	add("--launch-templates", func(o *Options) bool { return o.LaunchTemplates }, read("", "ec2:DescribeLaunchTemplateVersions", "what is in such a template",
		"condition LaunchTemplateReady of the EC2NodeClass, reason LaunchTemplateReadDenied"), part("", "network-interface", "key-pair"))
	spot := part("AllowScopedEC2InstanceActions", "spot-instances-request")
	spot.Sid, spot.context = "AllowUserLaunchTemplateSpotRequests", nil
	spot.Without = "condition Launched of NodeClaims for spot instances"
	templates = append(templates, spot)
	add("--pass-role", func(o *Options) bool { return len(o.PassRoles) > 0 }, Need{
		Action: "iam:PassRole", Operation: "ec2:CreateFleet, ec2:RunInstances (trial)", Kinds: []string{"role of yours"}, Sid: "AllowPassingUserRoles",
		Why: "instances run with the role that is in an instance profile of yours", Without: "condition ValidationSucceeded of the EC2NodeClass, reason RunInstancesAuthCheckFailed",
		resources: []string{passRolesRef}, context: map[string][]string{"iam:PassedToService": {refEC2}},
	})
	// Older editions let the controller launch from any template.
	add("--launch-templates", func(o *Options) bool { return o.LaunchTemplates || !o.tagsByCluster() }, templates...)
	add("--volume-key", func(o *Options) bool { return len(o.VolumeKeys) > 0 }, keyNeeds()...)
	return list
}

// keyNeeds are what EC2 does with keys of volumes in the name of who launches.
func keyNeeds() []Need {
	via := map[string][]string{"kms:ViaService": {"ec2." + refRegion + "." + refSuffix}}
	var list []Need
	for _, a := range []string{"kms:Decrypt", "kms:DescribeKey", "kms:GenerateDataKeyWithoutPlaintext", "kms:ReEncryptFrom", "kms:ReEncryptTo", "kms:CreateGrant"} {
		n := Need{Action: a, Operation: "ec2:CreateFleet", Kinds: []string{"key of volumes"}, Sid: "AllowVolumeKeyUse", Why: "EC2 makes volumes that are encrypted with it",
			Without: "instances end as soon as they begin, with Client.InternalError or InvalidKMSKey; event InstanceGone of the NodeClaim", resources: []string{volumeKeysRef}, context: via}
		if a == "kms:CreateGrant" {
			n.Sid, n.context = "AllowVolumeKeyGrants", both(map[string][]string{"kms:GrantIsForAWSResource": {"true"}}, via)
		}
		list = append(list, n)
	}
	return list
}

// Spare is a grant that no call of the table needs: an action of a statement on some kinds of its resources, or on all.
type Spare struct {
	Sid, Action string
	Kinds       []string
	Why         string
}

// Spares are the grants of a stack that no need accounts for, with the reason why they are there. Older editions hold what
// the guides of their time had.
func Spares(c Compat) []Spare {
	const crossed = "the statement has one list of resources for several actions; no call of EC2 asks for this pair, so it grants nothing"
	const tags = "AllowScopedEC2InstanceActionsWithTags"
	list := []Spare{
		{tags, "ec2:CreateFleet", []string{"launch-template", "spot-instances-request"}, crossed},
		{tags, "ec2:RunInstances", []string{"fleet", "launch-template"}, crossed},
		{tags, "ec2:CreateLaunchTemplate", []string{"fleet", "instance", "volume", "network-interface", "spot-instances-request"}, crossed},
		{"AllowScopedDeletion", "ec2:TerminateInstances", []string{"launch-template"}, crossed},
		{"AllowScopedDeletion", "ec2:DeleteLaunchTemplate", []string{"instance"}, crossed},
	}
	if !c.TagsByCluster() {
		list = append(list, Spare{"AllowScopedEC2InstanceActions", "ec2:CreateFleet", []string{"spot-instances-request"}, crossed})
	}
	if c != Latest {
		list = append(list, Spare{"AllowRegionalReadActions", "ec2:DescribeAvailabilityZones", nil, "the guides had it; the controller learns of zones from subnets and offerings"})
	}
	if c == V032 {
		list = append(list, Spare{"AllowInterruptionQueueActions", "sqs:GetQueueAttributes", nil, "the template had it; the controller asks for the queue's URL only"})
	}
	return list
}

func sessionOf(role string) string {
	name := role[strings.LastIndexByte(role, '/')+1:]
	head, _, _ := strings.Cut(role, ":role/")
	return strings.Replace(head, ":iam:", ":sts:", 1) + ":assumed-role/" + name + "/kerf"
}

func lower(s string) string { return strings.ToLower(s) }

// concrete makes one resource of a pattern that a user gave.
func concrete(pattern string) string {
	if !strings.Contains(pattern, ":parameter/") && !strings.Contains(pattern, ":key/") {
		return pattern
	}
	return strings.ReplaceAll(strings.ReplaceAll(pattern, "*", "any"), "?", "x")
}

func editionsFrom(first Compat) []Compat {
	all := Editions()
	return all[slices.Index(all, first):]
}
