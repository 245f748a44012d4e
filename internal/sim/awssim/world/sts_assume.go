package world

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/kerf-sh/kerf/internal/awsmodel/iampolicy"
)

// Assume is a preference to act as a role.
type Assume struct {
	RoleARN, Session string
	Duration         time.Duration // an hour when zero
	ExternalID       string
	SourceIdentity   string
	Tags             map[string]string // of the session

	AccessKeyID string // whose key asks; not for web identities
}

// WebIdentity is what a token says of its holder.
type WebIdentity struct {
	Issuer, Subject string
	Audience        []string
	Expires         time.Time // zero: never
}

// AssumeRole makes a session of a role, if the role's trust policy lets the caller in.
func (w *World) AssumeRole(a Assume) (AccessKey, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	key := w.iam.keys[a.AccessKeyID]
	if key == nil {
		return AccessKey{}, Errorf("InvalidClientTokenId", "The security token included in the request is invalid.")
	}
	r := w.roleByARNLocked(a.RoleARN)
	actions := a.actions("sts:AssumeRole")
	if r == nil {
		return AccessKey{}, notAssumed("User: "+key.PrincipalARN+" is", actions[0], a.RoleARN)
	}
	caller := iampolicy.Caller{ARN: key.PrincipalARN, Account: w.opts.Account}
	p := w.policiesOfLocked(key.PrincipalARN)
	ctx := w.assumeKeysLocked(&a, r)
	for k, v := range w.principalTagsLocked(key) {
		ctx.Set("aws:PrincipalTag/"+k, v)
	}
	ctx.Set("aws:PrincipalAccount", w.opts.Account)
	ctx.Set("aws:PrincipalArn", key.PrincipalARN)
	ctx.Set("aws:userid", key.PrincipalID)
	if own := w.principalRoleLocked(key.PrincipalARN); own != nil {
		ctx.Set("aws:PrincipalArn", own.ARN)
		ctx.Set("aws:PrincipalType", "AssumedRole")
	}
	for _, action := range actions {
		if !r.lets(caller, p, action, ctx, w.opts.Account) {
			return AccessKey{}, notAssumed("User: "+key.PrincipalARN+" is", action, a.RoleARN)
		}
	}
	_, _, chained := w.sessionOf(key.PrincipalARN)
	if err := a.checkDuration(r, chained); err != nil {
		return AccessKey{}, err
	}
	return w.sessionLocked(r, a.Session, a.Duration, a.Tags), nil
}

// AssumeRoleWithWebIdentity makes a session of a role for the holder of a token, if the account trusts the issuer and the
// role's trust policy lets the holder in. Whether the token is genuine is not looked at.
func (w *World) AssumeRoleWithWebIdentity(a Assume, id WebIdentity) (AccessKey, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	name := issuerName(id.Issuer)
	provider := w.iam.providers[w.iamARN("oidc-provider/", "", name)]
	switch {
	case provider == nil:
		return AccessKey{}, Errorf("InvalidIdentityToken", "No OpenIDConnect provider found in your account for %s", id.Issuer)
	case !slices.ContainsFunc(id.Audience, func(aud string) bool { return slices.Contains(provider.ClientIDs, aud) }):
		return AccessKey{}, Errorf("InvalidIdentityToken", "Incorrect token audience")
	case !id.Expires.IsZero() && !w.clock.Now().Before(id.Expires):
		return AccessKey{}, Errorf("ExpiredTokenException", "Token expired: current date/time must be before the expiration date/time")
	}
	const action = "sts:AssumeRoleWithWebIdentity"
	r := w.roleByARNLocked(a.RoleARN)
	if r == nil {
		return AccessKey{}, notAssumed("Not", action, "")
	}
	ctx := w.assumeKeysLocked(&a, r)
	ctx.Set(name+":sub", id.Subject)
	ctx.Set(name+":aud", id.Audience...)
	ctx.Set("aws:FederatedProvider", provider.ARN)
	if !r.lets(iampolicy.Caller{Federated: provider.ARN}, iampolicy.Policies{}, action, ctx, w.opts.Account) {
		return AccessKey{}, notAssumed("Not", action, "")
	}
	if err := a.checkDuration(r, false); err != nil {
		return AccessKey{}, err
	}
	return w.sessionLocked(r, a.Session, a.Duration, nil), nil
}

// RoleSession makes credentials for a role as EKS Pod Identity hands them to a pod, good for a month. The role must trust
// pods.eks.amazonaws.com with sts:AssumeRole and sts:TagSession, or the error says what is missing. If an association gives
// the role to a service account, the session has that one's tags.
func (w *World) RoleSession(roleName, session string) (AccessKey, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	r, err := w.roleLocked(roleName)
	if err != nil {
		return AccessKey{}, err
	}
	cluster := "arn:" + w.Partition() + ":eks:" + w.opts.Region + ":" + w.opts.Account + ":cluster/" + w.opts.ClusterName
	a := Assume{RoleARN: r.ARN, Session: session, Duration: podIdentitySession,
		Tags: map[string]string{"eks-cluster-arn": cluster, "eks-cluster-name": w.opts.ClusterName}}
	for _, id := range slices.Sorted(maps.Keys(w.eks.podIdentities)) {
		if p := w.eks.podIdentities[id]; p.RoleARN == r.ARN && p.Cluster == w.opts.ClusterName {
			a.Tags["kubernetes-namespace"], a.Tags["kubernetes-service-account"] = p.Namespace, p.ServiceAccount
			if p.DisableSessionTags {
				a.Tags = nil
			}
			break
		}
	}
	ctx := w.assumeKeysLocked(&a, r)
	ctx.Set("aws:SourceArn", cluster)
	ctx.Set("aws:SourceAccount", w.opts.Account)
	for _, action := range a.actions("sts:AssumeRole") {
		if !r.lets(iampolicy.Caller{Service: podIdentity}, iampolicy.Policies{}, action, ctx, w.opts.Account) {
			e := Errorf("AccessDenied", "The trust policy of %s does not let %s do %s, so that pods get no credentials for it.", r.ARN, podIdentity, action)
			e.Status = 403
			return AccessKey{}, e
		}
	}
	return w.sessionLocked(r, session, a.Duration, a.Tags), nil
}

// lets tells whether the trust policy of a role, with the caller's own policies where it leaves the matter to them,
// allows an action.
func (r *roleState) lets(caller iampolicy.Caller, own iampolicy.Policies, action string, ctx iampolicy.Context, account string) bool {
	own.Resource, own.ResourceOwner, own.ResourceOnly = r.trust, account, true
	return iampolicy.Evaluate(iampolicy.Call{Caller: caller, Action: action, Resource: r.ARN, Context: ctx}, own).OK()
}

// actions are all that a preference needs: tags and a source identity are permissions of their own.
func (a *Assume) actions(first string) []string {
	out := []string{first}
	if len(a.Tags) > 0 {
		out = append(out, "sts:TagSession")
	}
	if a.SourceIdentity != "" {
		out = append(out, "sts:SetSourceIdentity")
	}
	return out
}

// checkDuration fills the duration in and judges it.
func (a *Assume) checkDuration(r *roleState, chained bool) error {
	const exceeds = "The requested DurationSeconds exceeds "
	if a.Duration == 0 {
		a.Duration = defaultMaxSession
	}
	switch {
	case chained && a.Duration > time.Hour:
		return Errorf("ValidationError", exceeds+"the 1 hour session limit for roles assumed by role chaining.")
	case a.Duration > r.MaxSession:
		return Errorf("ValidationError", exceeds+"the MaxSessionDuration set for this role.")
	}
	return nil
}

func (w *World) assumeKeysLocked(a *Assume, r *roleState) iampolicy.Context {
	ctx := iampolicy.Context{}
	for k, v := range map[string]string{
		"sts:RoleSessionName": a.Session, "sts:ExternalId": a.ExternalID, "sts:SourceIdentity": a.SourceIdentity,
		"aws:RequestedRegion": w.opts.Region, "aws:CurrentTime": w.clock.Now().UTC().Format(time.RFC3339),
	} {
		if v != "" {
			ctx.Set(k, v)
		}
	}
	for k, v := range r.Tags {
		ctx.Set("aws:ResourceTag/"+k, v)
		ctx.Set("iam:ResourceTag/"+k, v)
	}
	for k, v := range a.Tags {
		ctx.Set("aws:RequestTag/"+k, v)
	}
	if len(a.Tags) > 0 {
		ctx.Set("aws:TagKeys", slices.Sorted(maps.Keys(a.Tags))...)
	}
	return ctx
}

func (w *World) roleByARNLocked(arn string) *roleState {
	if !strings.Contains(arn, ":role/") {
		return nil
	}
	if r := w.iam.roles[lastSegment(arn)]; r != nil && r.ARN == arn {
		return r
	}
	return nil
}

// notAssumed words a refusal as STS does, which tells the holders of web identities less.
func notAssumed(who, action, roleARN string) *Error {
	text := who + " authorized to perform " + action
	if roleARN != "" {
		text = who + " not authorized to perform: " + action + " on resource: " + roleARN
	}
	e := Errorf("AccessDenied", "%s", text)
	e.Status = 403
	return e
}
