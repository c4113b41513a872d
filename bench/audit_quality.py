"""How good audits are: every figure of the audit's table, on visible data.

    MORALSCOPE_DATA=… python bench/audit_quality.py [mpnet] [--exact] [--half even|odd] [--every N]
        [--generator rules|FOLDER] [--only NAME]

`--half` measures XSTest and the harmless pairs on every second prompt only: for experts that were
trained on the other half. `--every` takes every Nth reply of DiaSafety: for slow experts. NAME is
one of diasafety, xstest, written, golden, harmless, and two that are slow and not by default:
generated (rules that the generator writes for 60 exchanges of held-out rules), and everyday (what a
cascade would send on of ordinary replies: by our rules, and by eight of an organisation).
Flags are the audit's own, at the operating points in the adapter.
"""

import argparse
import time
from collections.abc import Sequence

import numpy as np
from sklearn.metrics import f1_score, roc_auc_score

import audit_data as known
from moralscope.models.encoders import load_encoder
from moralscope.rules.audit import AuditModels, AuditOptions, prepare_auditor
from moralscope.rules.experts import SURE
from moralscope.rules.options import RulesGenerateOptions
from moralscope.rules.records import CONCERN_WORDS, AuditedReply, Exchange
from moralscope.rules.reply_reader import EXPERTISE
from moralscope.rules.retrieval import unit_rows
from moralscope.rules.rulebook import shipped_rulebook
from moralscope.rules.training.organisations import organisations
from moralscope.rules.writing.rule_writer import prepare_writing

_ORDINARY = 150  # replies a set


class Bench:
    def __init__(self, name: str, *, exact: bool, half: str, every: int, generator: str) -> None:
        self.name, self.exact, self.half, self.generator = name, exact, half, generator
        self.every = every
        self.models: AuditModels = prepare_auditor(AuditOptions(experts=name, exact=exact))

    def audits(self, rows: Sequence[known.Row]) -> list[AuditedReply]:
        return self.models.auditor.audit([row.exchange for row in rows])

    def diasafety(self) -> None:
        every = known.diasafety()[:: self.every]
        audits = self.audits(every)
        bad = np.array([row.bad for row in every])
        kind = np.array([row.kind for row in every])
        flag = np.array([each.verdict.flag for each in audits])
        score = np.array([each.verdict.score for each in audits])
        chance = np.array([each.verdict.probability or 0.0 for each in audits])
        keep = ~((kind == known.EXPERTISE) & bad)
        print(
            f"DiaSafety val without bad replies of {known.EXPERTISE} ({keep.sum()}): AUC "
            f"{roc_auc_score(bad[keep], -score[keep]):.3f} (of P(bad) "
            f"{roc_auc_score(bad[keep], chance[keep]):.3f}), macro-F1 of the flag "
            f"{f1_score(bad[keep], flag[keep], average='macro'):.3f}, false alarms "
            f"{flag[keep & ~bad].mean():.3f}, recall {flag[keep & bad].mean():.3f}; "
            f"all: AUC {roc_auc_score(bad, -score):.3f}, abstained on "
            f"{np.mean([not each.verdict.is_judged for each in audits]):.3f}"
        )
        own = kind == known.EXPERTISE
        told = np.array([each.verdict.concern == CONCERN_WORDS[EXPERTISE] for each in audits])
        print(
            f"  {known.EXPERTISE} ({own.sum()}): flagged {flag[own].mean():.3f}, told as the "
            f"concern {told[own & bad].mean():.3f} of the bad and {told[own & ~bad].mean():.3f} of "
            f"the good; of other replies {told[keep].mean():.3f}"
        )
        named = [
            (each.verdict.concern, CONCERN_WORDS.get(row.kind.lower()))
            for each, row in zip(audits, every, strict=True)
            if row.bad and each.verdict.flag and row.kind != known.EXPERTISE
        ]
        print(
            f"  of {len(named)} flagged bad replies the concern is right for "
            f"{np.mean([concern == kind for concern, kind in named]):.3f}, none is named for "
            f"{np.mean([concern is None for concern, _ in named]):.3f}"
        )

    def xstest(self) -> None:
        rows = known.xstest(self.half)
        audits = self.audits(rows)
        bad = np.array([row.bad for row in rows])
        flag = np.array([each.verdict.flag for each in audits])
        score = np.array([each.verdict.score for each in audits])
        line = ", ".join(
            f"{name} {flag[[row.kind == name and not row.bad for row in rows]].mean():.3f}"
            for name in sorted({row.kind for row in rows if not row.bad})
        )
        print(
            f"XSTest, visible half, {self.half} prompts ({len(rows)}): false alarms "
            f"{flag[~bad].mean():.3f} ({line}), recall {flag[bad].mean():.3f} of {bad.sum()}, AUC "
            f"{roc_auc_score(bad, -score):.3f}"
        )

    def written(self) -> None:
        rows = known.written()
        audits = self.audits(rows)
        bad = np.array([row.bad for row in rows])
        score = np.array([each.verdict.score for each in audits])
        flag = np.array([each.verdict.flag for each in audits])
        told = self._aligned([(row.rule, row.exchange) for row in rows])
        figure = f1_score([row.label for row in rows], told, average="macro")
        limit = np.quantile(score[~bad], 0.05)
        print(
            f"written, held-out rules ({len(rows)}): AUC {roc_auc_score(bad, -score):.3f}, recall "
            f"at 5 % false alarms {(score[bad] < limit).mean():.3f}; as flagged: false alarms "
            f"{flag[~bad].mean():.3f}, recall {flag[bad].mean():.3f}; alignment macro-F1 "
            f"{figure:.3f}"
        )

    def golden(self) -> None:
        rows, rules = known.golden(), shipped_rulebook().by_id()
        told = self._aligned([(rules[row.rule].text, row.exchange) for row in rows])
        labels = [row.label for row in rows]
        finder = self.models.auditor.retriever
        found = finder.find([row.exchange for row in rows], 5) if finder else []
        places = [[rule.id for rule, _ in some] for some in found]
        shares = [
            np.mean([row.rule in some[:k] for row, some in zip(rows, places, strict=True)])
            for k in (1, 3, 5)
        ]
        audits = self.audits(rows)
        bad, flag = (np.array([f(x) for x in xs]) for f, xs in (
            (lambda row: row.bad, rows), (lambda each: each.verdict.flag, audits)))  # fmt: skip
        print(
            f"golden 120: alignment macro-F1 {f1_score(labels, told, average='macro'):.3f}; right "
            f"rule among 1/3/5 {shares[0]:.3f}/{shares[1]:.3f}/{shares[2]:.3f}; flagged "
            f"{flag[bad].mean():.3f} of those that break their rule, {flag[~bad].mean():.3f} of "
            "the others"
        )

    def harmless(self) -> None:
        pairs = known.harmless(self.half)
        auditor = self.models.auditor
        scores = [
            np.array([each.verdict.score for each in auditor.audit([p[side] for p in pairs])])
            for side in (0, 1)
        ]
        better = (scores[0] > scores[1]).mean() + (scores[0] == scores[1]).mean() / 2
        print(f"harmless pairs, {self.half} ({len(pairs)}): chosen scored better {better:.3f}")

    def generated(self) -> None:
        rows = [row for row in known.written() if row.label != "neither"]
        rows = rows[:: max(1, len(rows) // 60)][:60]
        ready = prepare_writing(RulesGenerateOptions(experts=self.name, generator=self.generator))
        made = ready.writer.write([row.exchange for row in rows])
        pairs = zip(rows, made, strict=True)
        best = [(row, each.rules[0][0].text) for row, each in pairs if each.rules]
        told = self._aligned([(text, row.exchange) for row, text in best])
        same = np.mean([label == row.label for label, (row, _) in zip(told, best, strict=True)])
        encoder = load_encoder("minilm")
        one = unit_rows(encoder, [text for _, text in best])
        two = unit_rows(encoder, [row.rule for row, _ in best])
        print(
            f"rules written for {len(rows)} exchanges of held-out rules: {len(best)} get one; "
            f"aligned with the reply as its label says {same:.3f}; cosine with the written rule "
            f"{(one * two).sum(1).mean():.3f}"
        )

    def everyday(self) -> None:
        dev = [one for one in organisations().values() if one.part == "dev"]
        books = [[entry.rule for entry in one.rules] for one in dev]
        for name, fine in {
            "fine written exchanges": [row.exchange for row in known.written() if not row.bad],
            "harmless replies of five chatbots (XSTest)": [
                row.exchange for row in known.xstest(self.half) if not row.bad
            ],
            "replies that people preferred (harmless pairs)": [
                better for better, _ in known.harmless(self.half)
            ],
        }.items():
            some = fine[:: max(1, len(fine) // _ORDINARY)][:_ORDINARY]
            readings = self.models.auditor.reader.read(some)
            verdicts = np.mean([max(text.window_bad) >= SURE for text in readings])
            asked = [
                (index, rule, window)
                for index, text in enumerate(readings)
                for rule in books[index % len(books)]
                for window in text.windows
            ]
            rows = self.models.auditor.aligner.align([(rule, text) for _, rule, text in asked])
            sent = np.array([row.probabilities["disagree"] >= SURE for row in rows])
            replies = {index for (index, *_), one in zip(asked, sent, strict=True) if one}
            print(
                f"{name} ({len(some)}): a cascade sends on {verdicts:.3f} of the replies by our "
                f"rules; by eight of one's own {len(replies) / len(some):.3f} of the replies, "
                f"{sent.mean():.3f} of the pairs",
                flush=True,
            )

    def _aligned(self, pairs: list[tuple[str, Exchange]]) -> list[str]:
        return [each.label for each in self.models.auditor.aligner.align(pairs)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("experts", nargs="?", default="mpnet")
    parser.add_argument("--exact", action="store_true")
    parser.add_argument("--half", choices=("all", "even", "odd"), default="all")
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--generator", default="rules")
    parser.add_argument("--only", action="append")
    given = parser.parse_args()
    bench = Bench(
        given.experts,
        exact=given.exact,
        half=given.half,
        every=given.every,
        generator=given.generator,
    )
    config = bench.models.config or {}
    limits = {k: round(v, 4) for k, v in config["thresholds"].items()}
    print(f"{config['experts']}, {config['bits']} bits; {limits}")
    for name in given.only or ("diasafety", "xstest", "written", "golden", "harmless"):
        started = time.monotonic()
        getattr(bench, name)()
        print(f"  ({time.monotonic() - started:.0f} s)", flush=True)


if __name__ == "__main__":
    main()
