import { useState } from 'preact/hooks'
import { api } from '../../api/client.ts'
import { t } from '../../text/index.ts'
import { FormDialog } from '../../ui/form-dialog.tsx'
import { toast } from '../../ui/toast.tsx'

/** Takes certificates and their keys from files, all or none. */
export function ImportCertsDialog({ onClose }: { readonly onClose: () => void }) {
  const [files, setFiles] = useState<readonly File[]>([])
  return (
    <FormDialog
      title={t('esim.certs.import')}
      confirm={t('esim.certs.import')}
      what={t('esim.certs.import.what')}
      isDisabled={files.length === 0}
      act={async () =>
        api.post('/v1/esim/certs/import', { body: { files: await Promise.all(files.map(contentOf)) } })
      }
      onDone={({ certs }) => {
        toast({ text: t('esim.certs.imported', { count: certs.length }) })
        onClose()
      }}
      onClose={onClose}
    >
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
    </FormDialog>
  )
}

/** PEM and DER alike, as the service takes both. */
async function contentOf(file: File): Promise<{ readonly name: string; readonly base64: string }> {
  const octets = new Uint8Array(await file.arrayBuffer())
  return { name: file.name, base64: btoa(Array.from(octets, (octet) => String.fromCharCode(octet)).join('')) }
}
