package forebay

import (
	"context"
	"sort"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// gatherTime is the longest time that a scrape waits for the engine.
const gatherTime = 10 * time.Second

// gatherer reads an engine's metrics on every scrape.
func gatherer(p interface {
	Metrics(context.Context) (string, error)
}) prometheus.Gatherer {
	return prometheus.GathererFunc(func() ([]*dto.MetricFamily, error) {
		ctx, cancel := context.WithTimeout(context.Background(), gatherTime)
		defer cancel()
		text, err := p.Metrics(ctx)
		if err != nil {
			return nil, err
		}
		parser := expfmt.NewTextParser(model.LegacyValidation)
		byName, err := parser.TextToMetricFamilies(strings.NewReader(text))
		if err != nil {
			return nil, newError(CodeInternal, "metrics", "metrics that do not parse: %v", err)
		}
		families := make([]*dto.MetricFamily, 0, len(byName))
		for _, family := range byName {
			families = append(families, family)
		}
		// Gatherers promise the order of names.
		sort.Slice(families, func(i, j int) bool { return families[i].GetName() < families[j].GetName() })
		return families, nil
	})
}
