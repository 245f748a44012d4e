// Package checks_test says where each rule is held that a cluster needs which moves over from another controller of the
// same API, and that the tests it names are there.
package checks_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// checks are the rules, with the tests that hold them: folder or file, and name.
var checks = []struct {
	rule  string
	tests []string
}{
	{"every EC2NodeClass that Karpenter's CRD admits is admitted, with the same defaults; what it refuses is refused", []string{
		"bench/crds TestThePeersClassesAreAdmittedWithTheSameDefaults", "controlplane/e2e/crds TestAPIServerAcceptsAndRefusesWhatTheTableSays",
	}},
	{"capacity and overhead of every instance type are what the published formulae give", []string{
		"internal/aws/instancetype TestAllocatableOfEveryTypeIsThePublishedOne", "internal/aws/instancetype TestPartsOfCapacityAndAllocatable",
	}},
	{"user data of every family means what was asked for, and boots", []string{"internal/aws/userdata TestEveryFamilyTextAndOptionMeansWhatWasAskedAndBoots"}},
	{"a full life under the stack's policies has no call refused, and no grant is idle", []string{
		"internal/sim/coverage/permissions TestTheWholePoliciesAreEnoughAndNotMore", "internal/sim/coverage/permissions TestOneActionTakenAwayFailsWhatNeedsItAndSaysSo",
		"controlplane/e2e TestGuidesStacks",
	}},
	{"tags of fleets, instances, volumes, interfaces, templates and profiles", []string{
		"internal/aws TestWhatIsMadeCanBeHandedBack", "internal/aws/profile TestAProfileIsMadeOnceForAClassAndItsRole", "internal/aws TestSpotRequestsStayUntaggedWhereThePolicyForbidsTheirTags",
	}},
	{"what another controller made is taken over, nothing is rolled, and what is made here can be handed back", []string{
		"internal/aws TestWhatAnotherControllerMadeIsTakenOver", "internal/aws TestWhatIsMadeCanBeHandedBack",
		"internal/controller/nodeclass TestClaimsOfAnotherHashVersionAreStampedAndNotRolled",
	}},
	{"every message of the queue has its effect; duplicates, foreign, unknown and broken ones hold nothing up", []string{
		"internal/controller/interruption TestWhatEachMessageDoes", "internal/controller/interruption TestTheSameAgainChangesNothing", "internal/controller/interruption TestMessagesAboutOthersAreDroppedUnparsed",
		"internal/controller/interruption TestAMessageThatOutrunsTheLaunchIsLeftForLater", "internal/controller/interruption TestAnUnknownSortIsToldOfOnce",
		"internal/controller/interruption TestAMessageThatFailsAgainAndAgainIsGivenUp", "internal/aws/queue TestEverySampleIsOfItsKind", "internal/aws/queue TestWhatIsNoEvent",
		"controlplane/e2e TestInterruption",
	}},
	{"every error of a launch has its class, reason and label", []string{"internal/aws TestEveryErrorOfALaunchHasItsClassReasonLabelAndWhatIsUnavailable", "internal/aws/awserr TestEveryRowOfTheTableIsReached"}},
	{"any read that is throttled, for however long, drifts and ends nothing", []string{
		"internal/aws TestAnyReadThatIsThrottledTakesNothingAway", "internal/aws TestWhatCanNotBeSeenNowIsUnknownAndKeepsWhatWasSeen", "internal/aws/image TestAThrottledParameterIsNeverAChange",
		"internal/controller/nodeclass TestWhatCanNotBeLookedAt", "controlplane/e2e TestFaults",
	}},
	{"a service that is silent is named, and what can be done without it goes on", []string{
		"internal/aws/dependency TestServicesThatFailAreNamedAndOthersAreNot", "internal/aws/dependency TestWhenAServiceCountsAsGone", "internal/aws TestInstancesAreLaunchedWhileAnotherServiceIsSilent",
		"internal/aws TestAClusterThatWasDescribedOnceIsKnownWhileEKSFails", "controlplane/e2e TestOutages", "internal/controller/interruption TestAQueueThatDoesNotWorkIsSaidAndRecovers",
	}},
	{"a class has one instance profile through all changes of its role, and none is left over", []string{
		"internal/aws TestAClassHasOneProfileThroughAllChangesOfItsRole", "internal/aws/profile TestAnotherRoleGetsAnotherProfileAndTheOldOneIsCollected",
	}},
	{"no EC2NodeClass that the CRD admits makes anything panic or touches another class", []string{
		"internal/sim/coverage/oddclass TestNoClassBringsTheProviderDownOrTouchesAnother", "controlplane/e2e TestBadInput",
	}},
	{"classes that differ see their own offerings, equally fresh", []string{"internal/aws/offering TestClassesDoNotShareAnswers", "internal/aws TestOneChangeCostsOneType"}},
	{"capacity reservations are used, run out and end", []string{
		"internal/aws TestAReservationIsUsedFirstAndThenWhatIsSold", "internal/aws TestAnEmptyReservationClosesItselfAndNotThePool", "internal/aws TestABlockThatIsAboutToEndIsNotOffered",
	}},
	{"each condition and reason of a class is said, and its end waits for its instances", []string{
		"internal/aws TestWhatIsWrongWithAClassIsSaidByConditionReasonAndField", "internal/aws TestAMissingPermissionIsNamed", "internal/controller/nodeclass TestAFindingBecomesItsConditionAndReadyFollows",
		"internal/controller/nodeclass TestTermsThatMixAreToldOf", "internal/controller/nodeclass TestAClassGoesAfterItsLastClaim", "internal/aws TestReleaseLeavesNothingOfTheClass",
	}},
	{"zones that traffic is shifted away from are left alone", []string{
		"internal/aws TestZonesThatTrafficIsShiftedAwayFromAreLeftAlone", "internal/aws/offering TestShiftedZonesAreClosedForAllTypesUntilTheShiftEnds", "internal/controller/zoneshift TestShiftsAreToldOfOncePerPool",
	}},
}

func TestEveryRuleHasItsTests(t *testing.T) {
	for _, c := range checks {
		if len(c.tests) == 0 {
			t.Errorf("nothing holds that %s", c.rule)
		}
		for _, named := range c.tests {
			folder, name, _ := strings.Cut(named, " ")
			if !declares(t, folder, name) {
				t.Errorf("%s has no test %s, which is to hold that %s", folder, name, c.rule)
			}
		}
	}
}

// declares reports whether a test file of a folder declares a test.
func declares(t *testing.T, folder, name string) bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("..", "..", "..", "..", filepath.FromSlash(folder), "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	want := regexp.MustCompile(`(?m)^func ` + regexp.QuoteMeta(name) + `\(t \*testing\.T\) \{`)
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		if want.Match(text) {
			return true
		}
	}
	return false
}
