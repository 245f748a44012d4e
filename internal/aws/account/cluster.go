package account

import (
	"context"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/eks"

	"github.com/kerf-sh/kerf/internal/aws/awserr"
	"github.com/kerf-sh/kerf/internal/awsmodel/awssetup"
)

// EKSAPI is what is asked of EKS.
type EKSAPI interface {
	DescribeCluster(context.Context, *eks.DescribeClusterInput, ...func(*eks.Options)) (*eks.DescribeClusterOutput, error)
	ListAccessEntries(context.Context, *eks.ListAccessEntriesInput, ...func(*eks.Options)) (*eks.ListAccessEntriesOutput, error)
	DescribeAccessEntry(context.Context, *eks.DescribeAccessEntryInput, ...func(*eks.Options)) (*eks.DescribeAccessEntryOutput, error)
	ListPodIdentityAssociations(context.Context, *eks.ListPodIdentityAssociationsInput, ...func(*eks.Options)) (*eks.ListPodIdentityAssociationsOutput, error)
	DescribePodIdentityAssociation(context.Context, *eks.DescribePodIdentityAssociationInput, ...func(*eks.Options)) (*eks.DescribePodIdentityAssociationOutput, error)
}

// cluster looks whether the cluster exists. Only if it certainly does not is there nothing to read.
func (r *reader) cluster(ctx context.Context) error {
	if r.o.ClusterName == "" {
		return nil
	}
	out, err := r.eks.DescribeCluster(ctx, &eks.DescribeClusterInput{Name: &r.o.ClusterName})
	switch {
	case isNotFound(err):
		return awserr.Wrap("finding the EKS cluster "+r.o.ClusterName+" in "+r.a.Region+" (see --cluster-name and AWS_REGION)", err)
	case err != nil:
		r.gap(GapCluster, err)
	case out.Cluster != nil && out.Cluster.AccessConfig != nil:
		r.a.AuthenticationMode = string(out.Cluster.AccessConfig.AuthenticationMode)
	}
	return nil
}

// accessEntries reads the entries of the roles that were read; a cluster may have many for people.
func (r *reader) accessEntries(ctx context.Context) {
	if r.o.ClusterName == "" || r.a.AuthenticationMode == "CONFIG_MAP" { // then EKS refuses the question
		return
	}
	pages := eks.NewListAccessEntriesPaginator(r.eks, &eks.ListAccessEntriesInput{ClusterName: &r.o.ClusterName})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			r.gap(GapAccess, err)
			return
		}
		for _, arn := range page.AccessEntries {
			if !strings.Contains(arn, ":role/") || r.known(lastSegment(arn)) == nil && !slices.Contains(r.o.ClassRoles, lastSegment(arn)) {
				continue
			}
			out, err := r.eks.DescribeAccessEntry(ctx, &eks.DescribeAccessEntryInput{ClusterName: &r.o.ClusterName, PrincipalArn: &arn})
			if err != nil {
				r.gap(GapAccess+" of "+arn, err)
				continue
			}
			if e := out.AccessEntry; e != nil {
				r.a.AccessEntries = append(r.a.AccessEntries, awssetup.AccessEntry{Cluster: r.o.ClusterName, PrincipalARN: deref(e.PrincipalArn), Type: deref(e.Type), Groups: e.KubernetesGroups})
			}
		}
	}
}

// podIdentities reads which roles service accounts get that may be the controller's.
func (r *reader) podIdentities(ctx context.Context) {
	if r.o.ClusterName == "" {
		return
	}
	pages := eks.NewListPodIdentityAssociationsPaginator(r.eks, &eks.ListPodIdentityAssociationsInput{ClusterName: &r.o.ClusterName})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			r.gap(GapPodIdentity, err)
			return
		}
		for _, s := range page.Associations {
			p := awssetup.PodIdentity{ID: deref(s.AssociationId), Namespace: deref(s.Namespace), ServiceAccount: deref(s.ServiceAccount)}
			if !r.isController(p) {
				continue
			}
			out, err := r.eks.DescribePodIdentityAssociation(ctx, &eks.DescribePodIdentityAssociationInput{ClusterName: &r.o.ClusterName, AssociationId: s.AssociationId})
			if err != nil {
				r.gap(GapPodIdentity+" of "+p.Namespace+"/"+p.ServiceAccount, err)
				continue
			}
			if out.Association != nil {
				p.RoleARN = deref(out.Association.RoleArn)
			}
			r.a.PodIdentities = append(r.a.PodIdentities, p)
		}
	}
}
