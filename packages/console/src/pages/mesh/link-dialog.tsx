import { useState } from 'preact/hooks'
import { api } from '../../api/client.ts'
import { useAction } from '../../api/use-query.ts'
import { t } from '../../text/index.ts'
import { ConfirmDialog } from '../../ui/dialog.tsx'
import { Field } from '../../ui/field.tsx'
import { toast } from '../../ui/toast.tsx'

const FIELDS = ['name', 'endpoint', 'key', 'routes'] as const
const EMPTY = { name: '', endpoint: '', key: '', routes: '' }

/** Links a box that is no member, by hand: the same has to be done on the other side. */
export function LinkDialog({ onClose }: { readonly onClose: () => void }) {
  const [typed, setTyped] = useState(EMPTY)
  const add = useAction(() =>
    api.post('/v1/peers', {
      body: {
        name: typed.name.trim(),
        endpoint: typed.endpoint.trim(),
        public_key: typed.key.trim(),
        routes: typed.routes.split(/[\s,]+/).filter((route) => route !== ''),
      },
    }),
  )
  const go = async (): Promise<void> => {
    const result = await add.run()
    if (result?.ok !== true) return
    toast({ text: t('mesh.linked', { name: result.data.name }) })
    onClose()
  }
  return (
    <ConfirmDialog
      isOpen
      title={t('mesh.do.link')}
      confirm={t('mesh.link.go')}
      isBusy={add.isBusy}
      error={add.error}
      onConfirm={() => void go()}
      onClose={onClose}
    >
      <div class="stack">
        <p>{t('mesh.link.what')}</p>
        {FIELDS.map((field) => (
          <Field
            key={field}
            label={t(`mesh.link.by.${field}`)}
            help={t(`mesh.link.by.${field}.help`)}
            value={typed[field]}
            onInput={(text) => setTyped((known) => ({ ...known, [field]: text }))}
            isRequired
          />
        ))}
      </div>
    </ConfirmDialog>
  )
}
