import { useState } from 'preact/hooks'
import { api } from '../../api/client.ts'
import { useAction } from '../../api/use-query.ts'
import { t } from '../../text/index.ts'
import { ConfirmDialog } from '../../ui/dialog.tsx'
import { toast } from '../../ui/toast.tsx'

/** Takes certificates and their keys from files, all or none. */
export function ImportCertsDialog({ onClose }: { readonly onClose: () => void }) {
  const [files, setFiles] = useState<readonly File[]>([])
  const load = useAction(async () =>
    api.post('/v1/esim/certs/import', { body: { files: await Promise.all(files.map(contentOf)) } }),
  )
  const confirm = async (): Promise<void> => {
    const answer = await load.run()
    if (answer?.ok !== true) return
    toast({ text: t('esim.certs.imported', { count: answer.data.certs.length }) })
    onClose()
  }
  return (
    <ConfirmDialog
      isOpen
      title={t('esim.certs.import')}
      confirm={t('esim.certs.import')}
      isBusy={load.isBusy}
      isDisabled={files.length === 0}
      error={load.error}
      onConfirm={() => void confirm()}
      onClose={onClose}
    >
      <p>{t('esim.certs.import.what')}</p>
      <div class="field">
        <label for="certs-files">{t('esim.certs.files')}</label>
        <input
          id="certs-files"
          type="file"
          multiple
          accept=".pem,.der,.key,.crt,.cer,.crl"
          onChange={(event) => setFiles([...(event.currentTarget.files ?? [])])}
        />
      </div>
    </ConfirmDialog>
  )
}

/** PEM and DER alike, as the service takes both. */
async function contentOf(file: File): Promise<{ readonly name: string; readonly base64: string }> {
  const octets = new Uint8Array(await file.arrayBuffer())
  return { name: file.name, base64: btoa(Array.from(octets, (octet) => String.fromCharCode(octet)).join('')) }
}
