import { useState } from 'preact/hooks'
import { api } from '../../api/client.ts'
import { useAction, useQuery } from '../../api/use-query.ts'
import type { PageProps } from '../../app/pages.ts'
import { navigate } from '../../app/router.ts'
import { named, t, word } from '../../text/index.ts'
import { Button, ButtonLink, RowButton } from '../../ui/button.tsx'
import { DialogButton, FormDialog } from '../../ui/dialog.tsx'
import { Field } from '../../ui/field.tsx'
import { ErrorNotice, Loaded, Notice } from '../../ui/notice.tsx'
import { Card, EmptyState, Facts, Said } from '../../ui/parts.tsx'
import { Time } from '../../ui/time.tsx'
import { toast } from '../../ui/toast.tsx'
import { HealthLamp, isBelow, type PluginRecord, StateLamp } from './plugin-state.tsx'

/** One plugin: how it is, why it failed, its versions and secrets. */
export function Page({ params: { name = '' } }: PageProps) {
  const plugins = useQuery(
    '/v1/plugins',
    { query: { limit: 500 } },
    { on: ['plugin.*', 'health.*'], everyMs: 30_000 },
  )
  return (
    <>
      <p>
        <a href="/plugins">{t('plugins.title')}</a>
      </p>
      <h1>{name}</h1>
      <Loaded query={plugins}>
        {({ plugins: all }) => {
          const plugin = all.find((one) => one.name === name)
          return plugin === undefined ? (
            <EmptyState
              title={t('plugins.gone')}
              action={<ButtonLink href="/plugins">{t('plugins.title')}</ButtonLink>}
            />
          ) : (
            <Plugin plugin={plugin} onChanged={plugins.reload} />
          )
        }}
      </Loaded>
    </>
  )
}

function Plugin({ plugin, onChanged }: { readonly plugin: PluginRecord; readonly onChanged: () => void }) {
  const { kind, version, loaded_at, loaded_because, signed_by, error, essential } = plugin
  return (
    <>
      <section class="card" aria-label={t('plugins.one')}>
        {error === null ? null : (
          <Notice tone={plugin.state === 'running' ? 'warn' : 'bad'}>
            <p>{t(plugin.state === 'needs_config' ? 'plugins.needs' : 'plugins.why')}</p>
            <p>
              <Said>{error}</Said>
            </p>
          </Notice>
        )}
        <Facts
          facts={[
            [t('plugins.state'), <StateLamp key="state" plugin={plugin} />],
            [t('plugins.health'), plugin.state === 'running' ? <HealthLamp plugin={plugin} /> : undefined],
            [t('plugins.version'), version],
            [t('plugins.kind'), kind === null ? undefined : word('plugins.kind', kind)],
            [t('plugins.since'), loaded_at === null ? undefined : <Time at={loaded_at} />],
            [t('plugins.because'), loaded_because === null ? undefined : <Said>{loaded_because}</Said>],
            [t('plugins.signedBy'), signed_by ?? t('plugins.ofTheBuild')],
          ]}
        />
        {essential ? <p>{t('plugins.essential')}</p> : null}
        <PluginActions plugin={plugin} onChanged={onChanged} />
      </section>
      <PluginVersions plugin={plugin} onChanged={onChanged} />
      <PluginSecrets name={plugin.name} />
    </>
  )
}

type Change = 'reload' | 'load' | 'unload' | 'enable' | 'disable'
/** What takes something away asks first. */
type Removal = 'disable' | 'unload'
const LONGEST_MS = 300_000

/** What can be done with a plugin in its state. */
function PluginActions({
  plugin,
  onChanged,
}: {
  readonly plugin: PluginRecord
  readonly onChanged: () => void
}) {
  const [asked, setAsked] = useState<Removal>()
  const make = (what: Change) =>
    api.post(`/v1/plugins/{name}/${what}`, { path: { name: plugin.name }, timeoutMs: LONGEST_MS })
  const change = useAction(make)
  const run = async (what: Change): Promise<void> => {
    const result = await change.run(what)
    onChanged()
    if (result?.ok !== true) return
    toast({ text: t(`plugins.${what}.done`, { name: plugin.name }) })
  }
  return (
    <>
      <ErrorNotice error={change.error} />
      <div class="actions">
        {changesOf(plugin).map((what) => (
          <Button
            key={what}
            isBusy={change.isBusy}
            onClick={() => (isRemoval(what) ? setAsked(what) : void run(what))}
          >
            {t(`plugins.${what}`)}
          </Button>
        ))}
      </div>
      {asked === undefined ? null : (
        <FormDialog
          text={`plugins.${asked}`}
          values={{ name: plugin.name }}
          isDanger
          act={() => make(asked).finally(onChanged)}
          onClose={() => setAsked(undefined)}
        />
      )}
    </>
  )
}

function isRemoval(what: Change): what is Removal {
  return what === 'disable' || what === 'unload'
}

function changesOf({ state, essential }: PluginRecord): readonly Change[] {
  if (state === 'running') return essential ? ['reload'] : ['reload', 'unload', 'disable']
  return state === 'disabled' ? ['enable'] : ['load', 'disable']
}

/** The versions that are here: another one in the place of that which runs, and the end of what was installed. */
function PluginVersions({
  plugin,
  onChanged,
}: {
  readonly plugin: PluginRecord
  readonly onChanged: () => void
}) {
  const { name, version: current, versions } = plugin
  const load = useAction((version: string) =>
    api.post('/v1/plugins/{name}/load', {
      path: { name },
      body: { version, rollback: isBelow(version, plugin) },
      timeoutMs: LONGEST_MS,
    }),
  )
  const run = async (version: string): Promise<void> => {
    const result = await load.run(version)
    if (result?.ok === true) toast({ text: t('plugins.load.done', { name: `${name} ${version}` }) })
    onChanged()
  }
  return (
    <Card title={t('plugins.versions')}>
      <ErrorNotice error={load.error} />
      <ul>
        {versions.map((version) => (
          <li key={version}>
            {version}{' '}
            {version === current ? (
              t('plugins.version.current')
            ) : (
              <Button kind="quiet" isBusy={load.isBusy} onClick={() => void run(version)}>
                {t(isBelow(version, plugin) ? 'plugins.rollBack' : 'plugins.upgrade', { version })}
              </Button>
            )}
          </li>
        ))}
      </ul>
      {plugin.installed.length === 0 ? null : <Uninstall plugin={plugin} onChanged={onChanged} />}
    </Card>
  )
}

function Uninstall({ plugin, onChanged }: { readonly plugin: PluginRecord; readonly onChanged: () => void }) {
  const { name } = plugin
  return (
    <div class="actions">
      <DialogButton
        text="plugins.uninstall"
        values={{ name }}
        button={{ kind: 'danger' }}
        isDanger
        act={() =>
          api.post('/v1/plugins/{name}/uninstall', { path: { name }, body: {}, timeoutMs: LONGEST_MS })
        }
        onDone={() => {
          onChanged()
          navigate('/plugins')
        }}
      />
    </div>
  )
}

/** The secrets that a plugin keeps: where each is, never what it is. */
function PluginSecrets({ name }: { readonly name: string }) {
  const secrets = useQuery('/v1/plugins/{name}/secrets', { path: { name } }, { on: ['plugin.*'] })
  const remove = useAction(
    (key: string) => api.delete('/v1/plugins/{name}/secrets/{key}', { path: { name, key } }),
    { onDone: secrets.reload },
  )
  if (secrets.error === undefined && (secrets.data === undefined || secrets.data.secrets.length === 0))
    return null
  return (
    <Card title={t('plugins.secrets')}>
      <p>{t('plugins.secrets.what')}</p>
      <ErrorNotice error={remove.error} />
      <Loaded query={secrets}>
        {({ secrets: known }) => (
          <ul>
            {known.map(({ key, from }) => (
              <li key={key}>
                <code>{key}</code>: {word('plugins.secret.from', from)}{' '}
                <SetSecret name={name} secret={key} onChanged={secrets.reload} />
                {from === 'store' ? (
                  <RowButton
                    text="plugins.secret.remove"
                    of={key}
                    isBusy={remove.isBusy}
                    onClick={() => void remove.run(key)}
                  />
                ) : null}
              </li>
            ))}
          </ul>
        )}
      </Loaded>
    </Card>
  )
}

function SetSecret({
  name,
  secret,
  onChanged,
}: {
  readonly name: string
  readonly secret: string
  readonly onChanged: () => void
}) {
  const [value, setValue] = useState('')
  return (
    <DialogButton
      text="plugins.secret.set"
      values={{ key: secret }}
      button={{ kind: 'quiet', label: named(t('plugins.secret.set'), secret) }}
      act={() =>
        api.put('/v1/plugins/{name}/secrets/{key}', { path: { name, key: secret }, body: { value } })
      }
      onDone={() => {
        setValue('')
        onChanged()
      }}
    >
      <Field
        label={t('plugins.secret.value')}
        help={t('plugins.secret.help')}
        type="password"
        value={value}
        onInput={setValue}
        isRequired
      />
    </DialogButton>
  )
}
