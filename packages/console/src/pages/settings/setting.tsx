import type { AnswerOf } from '@steeple/client'
import { useState } from 'preact/hooks'
import { t, word } from '../../text/index.ts'
import { Copy } from '../../ui/copy.tsx'
import { Facts } from '../../ui/facts.tsx'
import { Lamp } from '../../ui/lamp.tsx'
import './settings.css'
import { Said } from '../../ui/said.tsx'

/** A key of the configuration as it is in force. */
export type Setting = AnswerOf<'GET', '/v1/settings'>['settings'][number]

/** Whether somebody has set it. */
export function isSet({ from }: Setting): boolean {
  return from !== 'default'
}

/** One key: what is in force in a line, and behind it what it takes and how to change it, which is made for who opens it. */
export function SettingRow({ setting }: { readonly setting: Setting }) {
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
