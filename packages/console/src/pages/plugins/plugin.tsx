import { useState } from 'preact/hooks'
import { api } from '../../api/client.ts'
import { useAction, useQuery } from '../../api/use-query.ts'
import type { PageProps } from '../../app/pages.ts'
import { t, word } from '../../text/index.ts'
import { Button, ButtonLink } from '../../ui/button.tsx'
import { EmptyState } from '../../ui/empty-state.tsx'
import { Facts } from '../../ui/facts.tsx'
import { FormDialog } from '../../ui/form-dialog.tsx'
import { Loaded } from '../../ui/loaded.tsx'
import { ErrorNotice, Notice } from '../../ui/notice.tsx'
import { Said } from '../../ui/said.tsx'
import { Time } from '../../ui/time.tsx'
import { toast } from '../../ui/toast.tsx'
import { PluginSecrets } from './plugin-secrets.tsx'
import { HealthLamp, type PluginRecord, StateLamp } from './plugin-state.tsx'
import { PluginVersions } from './plugin-versions.tsx'

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
  const [asked, setAsked] = useState<Removal | undefined>(undefined)
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
