module github.com/kerf-sh/kerf/bench

go 1.26.0
