import type { AnswerOf } from '@steeple/client'
import { useState } from 'preact/hooks'
import { useQuery } from '../../api/use-query.ts'
import { filter, setFilters } from '../../app/router.ts'
import { t, word } from '../../text/index.ts'
import { Copy } from '../../ui/copy.tsx'
import { Checkbox, Field } from '../../ui/field.tsx'
import { Loaded, Notice } from '../../ui/notice.tsx'
import { EmptyState, Facts, Lamp } from '../../ui/parts.tsx'
import './settings.css'
import { Said } from '../../ui/parts.tsx'

/** A key of the configuration as it is in force. */
type Setting = AnswerOf<'GET', '/v1/settings'>['settings'][number]

/** Whether somebody has set it. */
function isSet({ from }: Setting): boolean {
  return from !== 'default'
}

/** One key: what is in force in a line, and behind it what it takes and how to change it, which is made for who opens it. */
function SettingRow({ setting }: { readonly setting: Setting }) {
  const [wasOpened, setOpened] = useState(false)
  return (
    <details class="setting" id={setting.key} onToggle={() => setOpened(true)}>
      <summary>
        <code>{setting.key}</code> <strong translate={false}>{shortened(valueText(setting.value))}</strong>{' '}
        {isSet(setting) ? <Lamp tone="on" label={t('settings.isSet')} /> : null}{' '}
        {setting.awaits_start ? <Lamp tone="warn" label={t('settings.awaits')} /> : null}
      </summary>
      {wasOpened ? <Behind setting={setting} /> : null}
    </details>
  )
}

function Behind({ setting }: { readonly setting: Setting }) {
  const { about, takes, from, apply, variable, flag, plugin } = setting
  const snippet = yamlOf(setting)
  return (
    <>
      <p>
        <Said>{about}</Said>
      </p>
      <Facts
        facts={[
          [t('settings.value'), valueText(setting.value)],
          [t('settings.default'), valueText(setting.default)],
          [t('settings.from'), isSet(setting) ? from : t('settings.from.default')],
          [t('settings.takes'), <Said key="takes">{takes}</Said>],
          [t('settings.counts'), word('settings.apply', apply)],
          [t('settings.variable'), variable === null ? undefined : <code>{variable}</code>],
          [t('settings.flag'), flag === null ? undefined : <code>{flag}</code>],
          [t('settings.plugin'), plugin],
        ]}
      />
      <p>{t('settings.inFile')}</p>
      <pre>{snippet}</pre>
      <Copy text={snippet} />
    </>
  )
}

/** What fits into a line of a phone. */
const LINE = 40

function shortened(text: string): string {
  return text.length > LINE ? `${text.slice(0, LINE)} …` : text
}

function valueText(value: unknown): string {
  if (value === '' || value === null || value === undefined) return t('settings.empty')
  if (Array.isArray(value) && value.length === 0) return t('settings.empty')
  return typeof value === 'string' ? value : JSON.stringify(value)
}

/** The lines of the file for a key, with what is in force; JSON is YAML. */
function yamlOf({ key, value }: Setting): string {
  const parts = key.split('.')
  return parts
    .map(
      (part, depth) =>
        `${'  '.repeat(depth)}${part}:${depth === parts.length - 1 ? ` ${JSON.stringify(value)}` : ''}`,
    )
    .join('\n')
}

/** The configuration in force, key by key. */
export function Page() {
  const settings = useQuery('/v1/settings', {}, { on: ['config.*', 'plugin.*'] })
  return (
    <>
      <h1>{t('settings.title')}</h1>
      <Notice>
        <p>{t('settings.how', { file: settings.data?.file ?? '' })}</p>
        <p>
          {t('settings.reload')} <code>sudo systemctl reload steeple</code> ·{' '}
          <a href="/docs/reference/configuration.html">{t('settings.docs')}</a>
        </p>
      </Notice>
      <div class="toolbar">
        <Field text="settings.search" type="search" value={filter('q')} onInput={(q) => setFilters({ q })} />
        <Checkbox
          text="settings.onlySet"
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
