#!/bin/sh
# demo.sh - what `make demo` shows: two supernets trained on built-in images, ranked, compared with the truth, reported;
# then the whole way, from images to a network that other programs run.
#
#   demo.sh [PADA [FOLDER]]      FOLDER gets spos, pada and auto; the same command resumes where it stopped
#
# EPOCHS (default 100), LIMIT (test images; default all) and EVALUATIONS (default 300) make it shorter for tests. Runs that are finished are not
# trained again; remove FOLDER, or run `make clean`, to start anew.
set -eu

pada=${1:-build/release/pada}
runs=${2:-build/demo}
epochs=${EPOCHS:-100}
started=$(date +%s)

show()
{
    printf '\n$ pada' >&2
    printf ' %s' "$@" >&2
    printf '\n' >&2
    "$pada" "$@"
}

# The size of the networks that the built-in truth table is about; the lower learning rate fits small batches.
for method in spos pada; do
    show train --method "$method" --data builtin --channels 8 --cells 1 --epochs "$epochs" --batch-size 64 --lr 0.05 \
        --validate 0 --quiet --out "$runs/$method"
done

# Every network of the truth table, with the weights of each supernet.
for method in spos pada; do
    show rank "$runs/$method" --networks truth --truth builtin ${LIMIT:+--limit "$LIMIT"}
done

show compare "$runs/spos" "$runs/pada" --truth builtin

# The same and more to look at. Exit code 69: this build has no charts.
show report "$runs/spos" "$runs/pada" --truth builtin --out "$runs/report.html" || [ $? -eq 69 ]

# From images to a network: supernet, search, the winner and a random network alone, ONNX, report. Without the sizes and
# lengths, which make it the same on every machine, it chooses them by the images and --minutes.
show auto --data builtin --channels 8 --cells 1 --epochs "$epochs" --network-epochs "$epochs" \
    --evaluations "${EVALUATIONS:-300}" --quiet --out "$runs/auto"

cat <<END

$(($(date +%s) - started)) seconds. The truth is the accuracy of the same networks trained alone (docs/truth.md), the scores are accuracies with
the weights of one supernet. An interval is about the choice of networks, not about the seed of the training, which
matters more here: docs/truth.md has the results of three. What to look at:
  $runs/report.html
      curves, samplers, rankings and the best cells of both runs, in a browser
  $runs/auto/report.html, $runs/auto/model.onnx
      the network that was found, its test and how to use it
  $runs/spos, $runs/pada
      metrics.csv (a row per epoch), ranking.csv (all scores), config.yaml and env.json (what made them)
  $pada truth --builtin
      the truth table
  $pada bench step
      the speed of this machine
END
