import { useState } from 'preact/hooks'
import { api } from '../../api/client.ts'
import { useAction } from '../../api/use-query.ts'
import { t } from '../../text/index.ts'
import { Button } from '../../ui/button.tsx'
import { FormDialog } from '../../ui/form-dialog.tsx'
import { ErrorNotice } from '../../ui/notice.tsx'
import { toast } from '../../ui/toast.tsx'
import type { PluginRecord } from './plugin-state.tsx'

type Change = 'reload' | 'load' | 'unload' | 'enable' | 'disable'
/** What takes something away asks first. */
type Removal = 'disable' | 'unload'
const LONGEST_MS = 300_000

/** What can be done with a plugin in its state. */
export function PluginActions({
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
      {change.error === undefined ? null : <ErrorNotice error={change.error} />}
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
          title={t(`plugins.${asked}.title`, { name: plugin.name })}
          confirm={t(`plugins.${asked}`)}
          what={t(`plugins.${asked}.what`)}
          isDanger
          act={() => make(asked).finally(onChanged)}
          done={t(`plugins.${asked}.done`, { name: plugin.name })}
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
