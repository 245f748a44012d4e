package stack

import "maps"

// Features, as the table of needs groups them.
const (
	featureStart     = "start-up"
	featureTypes     = "instance types and prices"
	featureClass     = "node classes"
	featureProfile   = "instance profiles"
	featureLaunch    = "launching instances"
	featureWatch     = "watching instances"
	featureInterrupt = "interruption"
	featureUnused    = "features that nothing calls by default"
)

func own(kind string) string {
	ids := map[string]string{
		"instance": "i-0123456789abcdef0", "launch-template": "lt-0123456789abcdef0", "subnet": "subnet-0123456789abcdef0",
		"security-group": "sg-0123456789abcdef0", "capacity-reservation": "cr-0123456789abcdef0", "placement-group": "spread",
	}
	id := ids[kind]
	if id == "" {
		id = "*" // it is made by the call
	}
	return regional("ec2", refAccount, kind+"/"+id)
}

func public(kind, id string) string { return regional("ec2", "", kind+"/"+id) }

func profileARN(account string) string {
	return "arn:" + refPartition + ":iam::" + account + ":instance-profile/karpenter/" + refRegion + "/" + refCluster + "/3f2b/" + refCluster + "_1"
}

// launchTags are the tags of what is made for a pool; trials have no pool yet.
func launchTags(pool string) map[string]string {
	return map[string]string{tagOwner: "owned", tagCluster: refCluster, tagPool: pool, tagClass: "default", "kerf.sh/cluster-uid": "3f2b", "team": "a"}
}

func profileTags() map[string]string {
	return map[string]string{tagOwner: "owned", tagCluster: refCluster, tagClass: "default", tagRegion: refRegion}
}

// asking is the context of a call that sets tags, having that of one on something that has them.
func asking(tags map[string]string) map[string][]string {
	out := map[string][]string{}
	for k, v := range tags {
		out[requestTag+k] = []string{v}
		out["aws:TagKeys"] = append(out["aws:TagKeys"], k)
	}
	return out
}

func having(tags map[string]string) map[string][]string {
	out := map[string][]string{}
	for k, v := range tags {
		out[resourceTag+k] = []string{v}
	}
	return out
}

func both(a, b map[string][]string) map[string][]string {
	maps.Copy(a, b)
	return a
}

func with(tags map[string]string, key, value string) map[string]string {
	out := maps.Clone(tags)
	out[key] = value
	return out
}

func without(tags map[string]string, key string) map[string]string {
	out := maps.Clone(tags)
	delete(out, key)
	return out
}

// Needs is the table of all calls that the controller makes: what a stack has to allow, by which statement, and what is
// seen when it does not.
func Needs() []Need {
	var list []Need
	for _, part := range [][]Need{startNeeds(), typeNeeds(), classNeeds(), profileNeeds(), templateNeeds(), launchNeeds(), tagNeeds(), watchNeeds(),
		interruptionNeeds(), optionalNeeds()} {
		list = append(list, part...)
	}
	return list
}

// read is a call that describes what there is; it knows no resources.
func read(feature, action, why, without string) Need {
	return Need{Feature: feature, Action: action, Kinds: []string{"*"}, Sid: "AllowRegionalReadActions", Why: why, Without: without, resources: []string{"*"}}
}

func startNeeds() []Need {
	return []Need{
		read(featureStart, "ec2:DescribeInstanceTypes", "a dry run tells whether EC2 can be reached; later the types themselves are read",
			`the controller ends at once with an error that names ec2:DescribeInstanceTypes; when it runs already, log "instance types could not be refreshed, older ones are used"`),
		{
			Feature: featureStart, Action: "eks:DescribeCluster", Kinds: []string{"cluster"}, Sid: "AllowAPIServerEndpointDiscovery",
			Why:       "endpoint, service addresses and version of the cluster",
			Without:   "the controller ends with an error that names eks:DescribeCluster, unless CLUSTER_ENDPOINT is set",
			resources: []string{clusterARN()},
		},
	}
}

func typeNeeds() []Need {
	return []Need{
		read(featureTypes, "ec2:DescribeInstanceTypeOfferings", "which type is to be had in which zone",
			`log "instance types could not be refreshed, older ones are used"`),
		read(featureTypes, "ec2:DescribeSpotPriceHistory", "prices of spot capacity", `log "prices could not be refreshed, older ones are used"`),
		{
			Feature: featureTypes, Action: "pricing:GetProducts", Kinds: []string{"*"}, Sid: "AllowPricingReadActions", Why: "on-demand prices",
			Without: `log "prices could not be refreshed, older ones are used"; not called with ISOLATED_VPC`, resources: []string{"*"},
			context: map[string][]string{"aws:RequestedRegion": {"us-east-1"}},
		},
	}
}

func classNeeds() []Need {
	return []Need{
		read(featureClass, "ec2:DescribeSubnets", "subnets that a class selects", "condition SubnetsReady of the EC2NodeClass"),
		read(featureClass, "ec2:DescribeSecurityGroups", "security groups that a class selects", "condition SecurityGroupsReady of the EC2NodeClass"),
		read(featureClass, "ec2:DescribeImages", "images that a class selects", "condition AMIsReady of the EC2NodeClass"),
		{
			Feature: featureClass, Action: "ssm:GetParameter", Kinds: []string{"public parameter"}, Sid: "AllowSSMReadActions",
			Why: "the image that an alias such as al2023@latest means", Without: `condition AMIsReady of EC2NodeClasses that select images by alias; those that have images keep them, with log "a parameter that names images could not be read, the image found before stays"`,
			resources: []string{publicParametersRef},
		},
		{
			Feature: featureClass, Action: "ssm:GetParameter", Kinds: []string{"parameter of yours"}, Sid: "AllowUserSSMParameterReads", Option: "--ssm-parameter",
			Why: "the image that amiSelectorTerms[].ssmParameter names", Without: "condition AMIsReady of EC2NodeClasses that name such a parameter",
			resources: []string{parametersRef}, on: func(o *Options) bool { return len(o.Parameters) > 0 },
		},
	}
}

func profileNeeds() []Need {
	make := func(action, sid, why string, context map[string][]string) Need {
		return Need{
			Feature: featureProfile, Action: action, Kinds: []string{"instance-profile"}, Sid: sid, Why: why,
			Without:   "condition InstanceProfileReady of EC2NodeClasses with spec.role",
			resources: []string{profileARN(refAccount)}, context: context,
		}
	}
	drop := make("iam:RemoveRoleFromInstanceProfile", "AllowScopedInstanceProfileActions", "a profile must be empty before it goes or gets another role", having(profileTags()))
	end := make("iam:DeleteInstanceProfile", "AllowScopedInstanceProfileActions", "profiles of classes that are gone", having(profileTags()))
	end.Without = `log "unused instance profiles could not all be deleted"; an EC2NodeClass stays when it is deleted`
	drop.Without = "condition InstanceProfileReady of EC2NodeClasses whose profile has another role; " + end.Without
	tagged := make("iam:TagInstanceProfile", "AllowScopedInstanceProfileTagActions", "a profile is made with tags", both(asking(profileTags()), having(profileTags())))
	tagged.Operation = "iam:CreateInstanceProfile"
	list := make("iam:ListInstanceProfiles", "AllowUnscopedInstanceProfileListAction", "profiles of classes that are gone are found by their path", nil)
	list.Before, list.from = none, Latest
	list.Without = `log "unused instance profiles could not all be deleted"; log "the instance profiles of a class could not be listed; only that of its present role was deleted"`
	list.resources = []string{"arn:" + refPartition + ":iam::" + refAccount + ":instance-profile/karpenter/" + refRegion + "/" + refCluster + "/"}
	return []Need{
		make("iam:GetInstanceProfile", "AllowInstanceProfileReadActions", "whether the profile of a class is there and has its role", having(profileTags())),
		make("iam:CreateInstanceProfile", "AllowScopedInstanceProfileCreationActions", "a profile for each class with spec.role", asking(profileTags())),
		tagged,
		make("iam:AddRoleToInstanceProfile", "AllowScopedInstanceProfileActions", "the class's role goes into its profile", having(profileTags())),
		{
			Feature: featureProfile, Action: "iam:PassRole", Operation: "iam:AddRoleToInstanceProfile, ec2:RunInstances", Kinds: []string{"node role"},
			Sid: "AllowPassingInstanceRole", Why: "instances run with the node role",
			Without:   "condition InstanceProfileReady, or ValidationSucceeded where the profile exists, of the EC2NodeClass; condition Launched of the NodeClaim",
			resources: []string{arnOf(idNodeRole)}, context: map[string][]string{"iam:PassedToService": {refEC2}},
		},
		drop, end, list,
	}
}

func templateNeeds() []Need {
	make := func(action, sid, why, without string, context map[string][]string) Need {
		return Need{
			Feature: featureLaunch, Action: action, Kinds: []string{"launch-template"}, Sid: sid, Why: why, Without: without,
			resources: []string{own("launch-template")}, context: context,
		}
	}
	trial := "condition ValidationSucceeded of the EC2NodeClass, reason CreateLaunchTemplateAuthCheckFailed; condition Launched of the NodeClaim"
	created := asking(launchTags("default"))
	created["ec2:CreateAction"] = []string{"CreateLaunchTemplate"}
	tagged := make("ec2:CreateTags", "AllowScopedResourceCreationTagging", "a template is made with tags", trial, created)
	tagged.Operation = "ec2:CreateLaunchTemplate"
	return []Need{
		read(featureLaunch, "ec2:DescribeLaunchTemplates", "which templates exist, and which are old",
			`log "launch templates could not be listed, they are found one by one"; log "unused launch templates could not all be deleted"; an EC2NodeClass stays when it is deleted`),
		make("ec2:CreateLaunchTemplate", "AllowScopedEC2InstanceActionsWithTags", "each image with its user data is a template; a trial tells whether one can be made",
			trial, asking(launchTags("default"))),
		tagged,
		make("ec2:DeleteLaunchTemplate", "AllowScopedDeletion", "templates that nobody has used for hours, or whose class is gone",
			`log "unused launch templates could not all be deleted"; an EC2NodeClass stays when it is deleted`, having(launchTags("default"))),
	}
}

// launchNeeds are those of CreateFleet. An instant fleet runs its instances in the caller's name, so both actions are asked
// about; trials are made of both, with no pool.
func launchNeeds() []Need {
	var list []Need
	for _, action := range []string{"ec2:CreateFleet", "ec2:RunInstances"} {
		operation, reason := "", "CreateFleetAuthCheckFailed"
		if action == "ec2:RunInstances" {
			operation, reason = "ec2:CreateFleet, ec2:RunInstances (trial)", "RunInstancesAuthCheckFailed"
		}
		without := "condition ValidationSucceeded of the EC2NodeClass, reason " + reason + "; condition Launched of the NodeClaim"
		make := func(sid, before, why string, kinds []string, context map[string][]string, resources ...string) Need {
			return Need{Feature: featureLaunch, Action: action, Operation: operation, Kinds: kinds, Sid: sid, Before: before, Why: why, Without: without,
				resources: resources, context: context}
		}
		made := []string{"instance", "volume", "network-interface"}
		if action == "ec2:CreateFleet" {
			made = append([]string{"fleet"}, made...)
		}
		var arns []string
		for _, kind := range made {
			arns = append(arns, own(kind))
		}
		list = append(list,
			make("AllowScopedEC2InstanceAccessActions", "AllowScopedEC2InstanceActions", "what instances are made from", []string{"image", "snapshot", "security-group", "subnet"}, nil,
				public("image", "ami-0123456789abcdef0"), public("snapshot", "snap-0123456789abcdef0"), own("security-group"), own("subnet")),
			make("AllowScopedEC2LaunchTemplateAccessActions", "AllowScopedEC2InstanceActions", "the template of the launch", []string{"launch-template"},
				having(launchTags("default")), own("launch-template")),
			make("AllowScopedEC2InstanceActionsWithTags", "", "what is made, with its tags", made, asking(launchTags("default")), arns...),
			make("AllowScopedEC2InstanceActionsWithTags", "", "the same on trial, before there is a pool", made, asking(launchTags("")), arns...),
		)
		if action == "ec2:RunInstances" { // EC2 tells it for instances, and organizations deny it
			list = append(list, make("AllowScopedEC2InstanceActionsWithTags", "", "spot capacity is used", []string{"instance"},
				both(map[string][]string{"ec2:InstanceMarketType": {"spot"}}, asking(launchTags("default"))), own("instance")))
		}
	}
	spot := Need{
		Feature: featureLaunch, Action: "ec2:RunInstances", Operation: "ec2:CreateFleet, ec2:RunInstances (trial)", Kinds: []string{"spot-instances-request"},
		Sid: "AllowScopedEC2InstanceActionsWithTags", Before: "AllowScopedEC2InstanceActions", Why: "spot instances are asked for",
		Without: "condition Launched of NodeClaims for spot instances" + AllowedByTemplates, resources: []string{own("spot-instances-request")},
		context: asking(launchTags("default")),
	}
	return append(list, spot)
}

func tagNeeds() []Need {
	var list []Need
	for _, creating := range []string{"CreateFleet", "RunInstances"} {
		keys := asking(launchTags("default"))
		keys["ec2:CreateAction"] = []string{creating}
		kinds := []string{"instance", "volume", "network-interface"}
		if creating == "CreateFleet" {
			kinds = []string{"fleet"}
		}
		var arns []string
		for _, kind := range kinds {
			arns = append(arns, own(kind))
		}
		n := Need{
			Feature: featureLaunch, Action: "ec2:CreateTags", Operation: "ec2:CreateFleet", Kinds: kinds, Sid: "AllowScopedResourceCreationTagging",
			Why: "what is made is tagged in the same call", Without: "condition ValidationSucceeded of the EC2NodeClass; condition Launched of the NodeClaim",
			resources: arns, context: keys,
		}
		list = append(list, n)
		if creating == "RunInstances" {
			n.Kinds, n.resources, n.Before = []string{"spot-instances-request"}, []string{own("spot-instances-request")}, none
			n.Why = "spot requests are tagged, too"
			n.Without = "condition Launched of NodeClaims for spot instances" + UntaggedSpot + `log "spot requests stay without tags, …"; nothing else is lost`
			list = append(list, n)
		}
	}
	return append(list, Need{
		Feature: featureWatch, Action: "ec2:CreateTags", Kinds: []string{"instance"}, Sid: "AllowScopedResourceTagging",
		Why: "an instance that has joined gets the names of its node and its NodeClaim", Without: `log "tagging instance"`,
		resources: []string{own("instance")},
		context:   both(asking(map[string]string{"Name": "node-1", tagClaim: "default-abcde"}), having(launchTags("default"))),
	})
}

func watchNeeds() []Need {
	status := read(featureWatch, "ec2:DescribeInstanceStatus", "instances whose checks fail, and maintenance that is planned", "condition InstanceStatusReady is False")
	status.Option, status.on = "--instance-status", func(o *Options) bool { return o.InstanceStatus }
	return []Need{
		read(featureWatch, "ec2:DescribeInstances", "which instances there are, what tags they bear and what became of them",
			`log "comparing instances with nodeclaims"; log "unused launch templates could not all be deleted"; instances without a NodeClaim stay, and of those that are to go the NodeClaim stays; after a restart, condition Launched of the NodeClaim`),
		status,
		{
			Feature: featureWatch, Action: "ec2:TerminateInstances", Kinds: []string{"instance"}, Sid: "AllowScopedDeletion", Why: "instances that are to go",
			Without: `the NodeClaim stays; error "terminating the instance of nodeclaim …"`, resources: []string{own("instance")},
			context: having(with(with(launchTags("default"), "Name", "node-1"), tagClaim, "default-abcde")),
		},
	}
}

func interruptionNeeds() []Need {
	var list []Need
	for _, n := range []struct{ action, operation, why string }{
		{"sqs:GetQueueUrl", "", "the queue is found by its name"},
		{"sqs:ReceiveMessage", "", "notices are read"},
		{"sqs:DeleteMessage", "sqs:DeleteMessageBatch", "notices that were acted on are removed"},
	} {
		list = append(list, Need{
			Feature: featureInterrupt, Action: n.action, Operation: n.operation, Kinds: []string{"interruption queue"}, Sid: "AllowInterruptionQueueActions",
			Why: n.why, Without: "condition InterruptionQueueReady of EC2NodeClasses is False", resources: []string{arnOf(idQueue)},
		})
	}
	return append(list, Need{
		Feature: featureInterrupt, Action: "kms:Decrypt", Operation: "sqs:ReceiveMessage", Kinds: []string{"key of the queue"}, Sid: "AllowInterruptionQueueKeyDecrypt",
		Option: "--kms or --kms-key", Why: "notices in a queue with a customer-managed key", Without: "condition InterruptionQueueReady of EC2NodeClasses is False",
		resources: []string{queueKeyRef}, on: func(o *Options) bool { return o.KMS || o.KMSKey != "" },
	})
}
