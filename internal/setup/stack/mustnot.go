package stack

import (
	"cmp"
	"slices"
)

// MustNot are calls that a well-scoped stack refuses: what would touch other clusters, other roles, other regions or the
// account as a whole. Before is of no meaning here.
func MustNot() []Need {
	return slices.Concat(foreignInstances(), foreignMaking(), foreignTagging(), foreignIdentity(), foreignReading(), administration())
}

func refusal(what, action string, context map[string][]string, resources ...string) Need {
	return Need{Feature: what, Action: action, resources: resources, context: context}
}

func others() map[string]string {
	t := launchTags("default")
	delete(t, tagOwner)
	t["kubernetes.io/cluster/"+otherRef], t[tagCluster] = "owned", otherRef
	return t
}

func foreignInstances() []Need {
	var list []Need
	for action, kind := range map[string]string{"ec2:TerminateInstances": "instance", "ec2:DeleteLaunchTemplate": "launch-template"} {
		list = append(list,
			refusal("ending what belongs to another cluster", action, having(others()), own(kind)),
			refusal("ending what has no tags", action, nil, own(kind)),
			refusal("ending what the cluster has but no pool", action, having(without(launchTags("default"), tagPool)), own(kind)),
			refusal("ending what is the cluster's but shared", action, having(with(launchTags("default"), tagOwner, "shared")), own(kind)),
			refusal("ending what is in another region", action, having(launchTags("default")),
				"arn:"+refPartition+":ec2:"+elsewhereRef+":"+refAccount+":"+kind+"/x-1"),
		)
	}
	slices.SortStableFunc(list, func(a, b Need) int { return cmp.Compare(a.Action, b.Action) })
	return list
}

func foreignMaking() []Need {
	var list []Need
	for _, action := range launches {
		cluster := refusal("launching with the name of another cluster", action, asking(with(launchTags("default"), tagCluster, otherRef)), own("instance"))
		cluster.editions = editionsFrom(V10)
		template := refusal("launching from the template of another cluster", action, having(others()), own("launch-template"))
		template.editions = editionsFrom(V10)
		list = append(list,
			refusal("launching without tags", action, nil, own("instance"), own("volume"), own("network-interface")),
			refusal("launching for another cluster", action, asking(others()), own("instance")),
			refusal("launching without a pool", action, asking(without(launchTags("default"), tagPool)), own("instance")),
			refusal("launching in another region", action, asking(launchTags("default")), "arn:"+refPartition+":ec2:"+elsewhereRef+":"+refAccount+":instance/*",
				"arn:"+refPartition+":ec2:"+elsewhereRef+":"+refAccount+":subnet/subnet-1", "arn:"+refPartition+":ec2:"+elsewhereRef+"::image/ami-1"),
			refusal("launching with a key pair", action, nil, own("key-pair")),
			cluster, template,
		)
	}
	return append(list, refusal("making a template for another cluster", "ec2:CreateLaunchTemplate", asking(others()), own("launch-template")))
}

func foreignTagging() []Need {
	names := map[string]string{"Name": "node-1", tagClaim: "default-abcde"}
	tag := func(what string, tags map[string]string, on map[string]string, kinds ...string) Need {
		n := refusal(what, "ec2:CreateTags", both(asking(tags), having(on)))
		for _, kind := range kinds {
			n.resources = append(n.resources, own(kind))
		}
		return n
	}
	renamed := tag("telling an instance to be another cluster's", with(names, tagCluster, otherRef), launchTags("default"), "instance")
	creating := asking(launchTags("default"))
	creating["ec2:CreateAction"] = []string{"CreateSnapshot"}
	return []Need{
		tag("tagging an instance of another cluster", names, others(), "instance"),
		tag("tagging an instance of nobody", names, nil, "instance"),
		tag("taking an instance over by tagging it", launchTags("default"), nil, "instance", "launch-template"),
		tag("changing whose instance it is", with(names, tagOwner, "owned"), launchTags("default"), "instance"),
		tag("moving an instance to another pool", with(names, tagPool, "other"), launchTags("default"), "instance"),
		renamed,
		tag("tagging what is not an instance", names, launchTags("default"), "volume", "subnet", "security-group", "launch-template"),
		refusal("tagging on another creation", "ec2:CreateTags", creating, own("volume")),
	}
}

func foreignIdentity() []Need {
	pass := func(what, role, service string) Need {
		return refusal(what, "iam:PassRole", map[string][]string{"iam:PassedToService": {service}}, role)
	}
	otherRole := "arn:" + refPartition + ":iam::" + refAccount + ":role/KarpenterNodeRole-" + otherRef
	list := []Need{
		pass("passing the node role of another cluster", otherRole, refEC2),
		pass("passing an administrator's role", "arn:"+refPartition+":iam::"+refAccount+":role/Admin", refEC2),
		pass("passing the node role to another service", arnOf(idNodeRole), "lambda.amazonaws.com"),
		refusal("making a profile without tags", "iam:CreateInstanceProfile", nil, profileARN(refAccount)),
		refusal("making a profile for another cluster", "iam:CreateInstanceProfile", asking(with(without(profileTags(), tagOwner), "kubernetes.io/cluster/"+otherRef, "owned")), profileARN(refAccount)),
		refusal("taking a profile over by tagging it", "iam:TagInstanceProfile", asking(profileTags()), profileARN(refAccount)),
	}
	for _, action := range []string{"iam:AddRoleToInstanceProfile", "iam:RemoveRoleFromInstanceProfile", "iam:DeleteInstanceProfile"} {
		list = append(list,
			refusal("changing a profile of another cluster", action, having(with(without(profileTags(), tagOwner), "kubernetes.io/cluster/"+otherRef, "owned")), profileARN(refAccount)),
			refusal("changing a profile of another region", action, having(with(profileTags(), tagRegion, elsewhereRef)), profileARN(refAccount)),
			refusal("changing a profile of nobody", action, nil, profileARN(refAccount)),
		)
	}
	account := refusal("reading profiles of another account", "iam:GetInstanceProfile", nil, profileARN("999988887777"))
	account.editions = editionsFrom(V032Later)
	return append(list, account)
}

func foreignReading() []Need {
	elsewhere := map[string][]string{"aws:RequestedRegion": {elsewhereRef}}
	ssm := func(region, name string) string {
		return "arn:" + refPartition + ":ssm:" + region + ":" + refAccount + ":parameter/" + name
	}
	return []Need{
		refusal("reading another region", "ec2:DescribeInstances", elsewhere, "*"),
		refusal("reading another region", "ec2:DescribeImages", elsewhere, "*"),
		refusal("reading parameters of the account", "ssm:GetParameter", nil, ssm(refRegion, "database/password")),
		refusal("reading parameters of another region", "ssm:GetParameter", nil, "arn:"+refPartition+":ssm:"+elsewhereRef+"::parameter/aws/service/eks/x"),
		refusal("reading another cluster", "eks:DescribeCluster", nil, regional("eks", refAccount, "cluster/"+otherRef)),
		refusal("reading another queue", "sqs:ReceiveMessage", nil, regional("sqs", refAccount, otherRef)),
		refusal("emptying another queue", "sqs:DeleteMessage", nil, regional("sqs", refAccount, otherRef)),
		refusal("decrypting with another key", "kms:Decrypt", nil, regional("kms", refAccount, "key/99999999-9999-9999-9999-999999999999")),
	}
}

// administration is what a controller has no business with, on what is its own.
func administration() []Need {
	role := arnOf(idNodeRole)
	var list []Need
	add := func(what, resource string, context map[string][]string, actions ...string) {
		for _, a := range actions {
			list = append(list, refusal(what, a, context, resource))
		}
	}
	add("administering the queue", arnOf(idQueue), nil, "sqs:SendMessage", "sqs:PurgeQueue", "sqs:DeleteQueue", "sqs:SetQueueAttributes")
	add("administering roles", role, nil, "iam:CreateRole", "iam:AttachRolePolicy", "iam:PutRolePolicy", "iam:UpdateAssumeRolePolicy", "sts:AssumeRole")
	add("administering instances", own("instance"), having(launchTags("default")), "ec2:StopInstances", "ec2:ModifyInstanceAttribute", "ec2:DeleteTags")
	add("administering templates", own("launch-template"), having(launchTags("default")), "ec2:CreateLaunchTemplateVersion", "ec2:ModifyLaunchTemplate")
	add("administering networks", own("security-group"), nil, "ec2:AuthorizeSecurityGroupIngress", "ec2:DeleteSecurityGroup")
	add("administering the cluster", clusterARN(), nil, "eks:DeleteCluster", "eks:UpdateClusterConfig", "eks:CreateAccessEntry")
	add("reading secrets", regional("secretsmanager", refAccount, "secret:x"), nil, "secretsmanager:GetSecretValue")
	return list
}
