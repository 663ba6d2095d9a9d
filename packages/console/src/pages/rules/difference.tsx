import { t } from '../../text/index.ts'
import { changedPaths, type Draft, RULES, shown } from './rule-fields.ts'

/** What differs between two states of the rules; with `own` what is typed here about the same ones. */
export function Difference({
  paths,
  before,
  after,
  own,
}: {
  readonly paths: readonly string[]
  readonly before: Draft
  readonly after: Draft
  readonly own?: Draft
}) {
  const changed = changedPaths(before, after).filter((path) => paths.includes(path))
  const touched = own === undefined ? [] : changedPaths(before, own)
  return (
    <dl class="difference">
      {RULES.filter(({ path }) => changed.includes(path)).map(({ path, title }) => (
        <div key={path}>
          <dt>{t(title)}</dt>
          <dd>
            <del>{shown(before[path])}</del> → <ins>{shown(after[path])}</ins>
            {touched.includes(path) ? (
              <p class="wrong">{t('rules.stale.both', { own: shown(own?.[path]) })}</p>
            ) : null}
          </dd>
        </div>
      ))}
    </dl>
  )
}
