import { useQuery } from '../../api/use-query.ts'
import { filter, setFilters } from '../../app/router.ts'
import { t } from '../../text/index.ts'
import { EmptyState } from '../../ui/empty-state.tsx'
import { Checkbox, Field } from '../../ui/field.tsx'
import { Loaded } from '../../ui/loaded.tsx'
import { Notice } from '../../ui/notice.tsx'
import { isSet, type Setting, SettingRow } from './setting.tsx'

/** The configuration in force, key by key. */
export function Page() {
  const settings = useQuery('/v1/settings', {}, { on: ['config.*', 'plugin.*'] })
  return (
    <>
      <h1>{t('settings.title')}</h1>
      <Notice>
        <p>{t('settings.how')}</p>
        <p>
          <code>sudo systemctl reload steeple</code> ·{' '}
          <a href="/docs/reference/configuration.html">{t('settings.docs')}</a>
        </p>
      </Notice>
      <div class="toolbar">
        <Field
          label={t('settings.search')}
          type="search"
          value={filter('q')}
          onInput={(q) => setFilters({ q })}
        />
        <Checkbox
          label={t('settings.onlySet')}
          isChecked={filter('set') !== ''}
          onChange={(isOn) => setFilters({ set: isOn ? '1' : '' })}
        />
      </div>
      <Loaded query={settings}>{({ settings: all }) => <Groups all={all} />}</Loaded>
    </>
  )
}

function Groups({ all }: { readonly all: readonly Setting[] }) {
  const words = filter('q').toLowerCase().split(/\s+/)
  const shown = all.filter(
    (one) => words.every((word) => textOf(one).includes(word)) && (filter('set') === '' || isSet(one)),
  )
  const awaiting = all.filter(({ awaits_start }) => awaits_start)
  const groups = [...new Set(shown.map(groupOf))]
  return (
    <>
      {awaiting.length === 0 ? null : (
        <Notice tone="warn">
          {t('settings.awaiting', { count: awaiting.length })} {awaiting.map(({ key }) => key).join(', ')}
        </Notice>
      )}
      <p role="status">{t('settings.count', { count: shown.length, all: all.length })}</p>
      {shown.length === 0 ? (
        <EmptyState title={t('settings.none')}>{t('settings.none.help')}</EmptyState>
      ) : null}
      {groups.map((group) => (
        <section key={group} aria-labelledby={`settings-${group}`}>
          <h2 id={`settings-${group}`} translate={false}>
            {group}
          </h2>
          {shown
            .filter((one) => groupOf(one) === group)
            .map((one) => (
              <SettingRow key={one.key} setting={one} />
            ))}
        </section>
      ))}
    </>
  )
}

/** What is searched: what stands behind a line cannot be found by the browser before it is opened. */
function textOf({ key, about, takes, plugin, variable, flag }: Setting): string {
  return [key, about, takes, plugin, variable, flag].join(' ').toLowerCase()
}

function groupOf({ key }: Setting): string {
  return key.split('.', 1)[0] ?? key
}
