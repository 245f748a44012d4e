package disrupt

// Mechanisms are those that Loop.Without can name. What each of them earns is measured by the ledger of simcluster:
//
//	make ledger WITHOUT=waits
var Mechanisms = []string{
	"waits",    // a move of small savings stands as long as it takes to pay back
	"onto",     // a move waits for the consolidateAfter of the underutilized nodes that take its pods
	"horizon",  // how long a saving lasts is learned; without it, a day
	"survival", // how much of a saving is launched again is learned
	"hold",     // nodes are left alone that a move has just filled or launched
	"breaker",
}

func (l *Loop) without(mechanism string) bool { return l.Without[mechanism] }
