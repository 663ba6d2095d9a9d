import { api } from '../../api/client.ts'
import { useAction } from '../../api/use-query.ts'
import { navigate } from '../../app/router.ts'
import { t } from '../../text/index.ts'
import { Button } from '../../ui/button.tsx'
import { Card } from '../../ui/card.tsx'
import { DialogButton } from '../../ui/form-dialog.tsx'
import { ErrorNotice } from '../../ui/notice.tsx'
import { toast } from '../../ui/toast.tsx'
import { isBelow, type PluginRecord } from './plugin-state.tsx'

const LONGEST_MS = 300_000

/** The versions that are here: another one in the place of that which runs, and the end of what was installed. */
export function PluginVersions({
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
